// The ranks of NCCL's fake, and their common operations on the host's memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "collective/gpu/nccl_types.h"

namespace tony::collective {

enum class FakeCall { kAllReduce, kReduce, kBroadcast, kReduceScatter, kAllGather, kSend, kRecv };

/// One call of one rank.
struct FakeOp {
  FakeCall call;
  const void* in;
  void* out;
  size_t count;
  NcclType type;
  NcclOp op;
  int peer;  ///< or root
};

/// All that a rank called as one group.
using FakeGroup = std::vector<FakeOp>;

DataType TypeOf(NcclType type);

/// Executes the calls that all ranks made as one group, by rank, and compares them.
void DoTogether(std::map<int, FakeGroup>& groups);

/// The ranks of one unique id. Thread safe.
class FakeWorld {
 public:
  virtual ~FakeWorld() = default;

  virtual void Join() = 0;
  virtual bool complete() = 0;
  virtual void Part() = 0;
  virtual bool parted() = 0;
  /// Until all ranks' groups of this number are done. Ends without it when `given_up` is true,
  /// which Wake() looks at again.
  virtual void Do(uint64_t number, int rank, FakeGroup group,
                  const std::atomic<bool>& given_up) = 0;
  /// Sends and receives: only those who have some take part. Whoever receives waits for it.
  virtual void Exchange(int rank, const FakeGroup& group, const std::atomic<bool>& given_up) = 0;
  virtual void Wake() = 0;
};

/// A world of ranks that are threads: the last one to come does all the work.
class FakeThreadWorld : public FakeWorld {
 public:
  explicit FakeThreadWorld(int ranks) : ranks_(ranks) {}

  void Join() override {
    const std::lock_guard lock(mutex_);
    ++joined_;
  }
  bool complete() override {
    const std::lock_guard lock(mutex_);
    return joined_ == ranks_;
  }
  void Part() override {
    const std::lock_guard lock(mutex_);
    ++parted_;
  }
  bool parted() override {
    const std::lock_guard lock(mutex_);
    return parted_ == ranks_;
  }
  void Do(uint64_t number, int rank, FakeGroup group, const std::atomic<bool>& given_up) override;
  void Exchange(int rank, const FakeGroup& group, const std::atomic<bool>& given_up) override;
  void Wake() override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  struct Meeting {
    std::map<int, FakeGroup> groups;
    bool done = false;
  };

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int joined_ = 0;
  int parted_ = 0;
  std::map<uint64_t, Meeting> meetings_;
  std::map<std::pair<int, int>, std::deque<std::vector<unsigned char>>> sent_;  ///< by way
};

}  // namespace tony::collective
