// Where ranks of the double of NCCL meet that are processes: memory that they share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/collective/gpu/fake/fake_world.h"

namespace tony::collective {

/// A test makes it, zeroed, before it forks the ranks. Nothing in it is a lock, which a rank that
/// is killed would keep.
struct FakeProcesses {
  static constexpr int kMostRanks = 4;
  static constexpr size_t kMostCalls = 16;
  static constexpr size_t kMostBytes = size_t{1} << 16;

  // Settings, which a test may change at any time.
  std::atomic<int> hangs_at;             ///< this rank, in operations
  std::atomic<uint64_t> hangs_from;      ///< from this number on; 0: never
  std::atomic<bool> broken[kMostRanks];  ///< by rank: it has lost another one's connection

  // Counts of events.
  std::atomic<int> joined;
  std::atomic<int> parted;
  std::atomic<int> inside;                  ///< ranks in the operation that hangs
  std::atomic<uint64_t> asked[kMostRanks];  ///< by rank: calls of ncclCommGetAsyncError

  /// The state of one rank.
  struct Part {
    std::atomic<uint64_t> written;  ///< operations of which the others can read its part
    std::atomic<uint64_t> read;     ///< operations of which it has read theirs
    size_t calls;
    FakeOp ops[kMostCalls];
    unsigned char data[kMostBytes];  ///< what the calls read, one after the other
  };
  Part parts[kMostRanks];
};

/// As one process sees it. A rank that never comes is waited for for ever, as NCCL does. There is
/// no Exchange(). Thread safe.
class FakeProcessWorld : public FakeWorld {
 public:
  FakeProcessWorld(int ranks, FakeProcesses& all) : ranks_(ranks), all_(all) {}

  void Join() override { ++all_.joined; }
  bool complete() override { return all_.joined == ranks_; }
  void Part() override { ++all_.parted; }
  bool parted() override { return all_.parted == ranks_; }
  void Do(uint64_t number, int rank, FakeGroup group, const std::atomic<bool>& given_up) override;
  void Exchange(int rank, const FakeGroup& group, const std::atomic<bool>& given_up) override;
  void Wake() override {}  // nobody sleeps for long

 private:
  void Write(int rank, const FakeGroup& group);
  FakeGroup Read(int rank, void* out);

  const int ranks_;
  FakeProcesses& all_;
};

}  // namespace tony::collective
