// One rank's end of the operations that all ranks do together, by name.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "collective/coordinator.h"
#include "collective/deadline.h"
#include "collective/members.h"
#include "collective/request.h"
#include "collective/status.h"

namespace tony::collective {

/// 1. Any thread submits tensors, in any order.
/// 2. The links' thread tells rank 0 of them, which decides (coordinator.h) and tells all. It
/// decides
///    when the data thread has nothing to do, so that what comes meanwhile is fused.
/// 3. The data thread does what was decided, in that order, and calls whoever has submitted.
/// Nothing runs while nobody submits. Thread safe.
class Engine {
 public:
  struct Options {
    Coordinator::Limits limits;
    /// For ranks to come to an operation that was decided: all have submitted it by then.
    std::chrono::milliseconds patience = std::chrono::seconds(60);
  };
  /// From the data thread, or the links': may submit, but not wait.
  using OnDone = std::function<void(const Status&)>;
  /// `last`: which rank was the last one to join; below 0 with an error.
  using OnJoined = std::function<void(const Status&, int last)>;

  Engine(std::unique_ptr<Members> members, Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Who waits still is told that the engine was shut down.
  ~Engine();

  /// `out` = the sum (or whatever `request.kind.reduce` says) of all ranks' `in`, each times
  /// `prescale`, the result times `postscale`. Both hold the request's shape, and live until
  /// `on_done`; `out` may be `in`. The operation is kAllReduce.
  /// InvalidArgument: this name is on its way already; a negative length. FailedPrecondition: shut
  /// down, or joined. `on_done` is told InvalidArgument where ranks do not agree, with what they
  /// say; Aborted, DeadlineExceeded where one of them is gone.
  Status AllReduce(Request request, const void* in, void* out, OnDone on_done);
  /// Until all ranks have come to the barrier of this name.
  Status Barrier(std::string name, OnDone on_done);
  /// This rank has no more data: it takes part in the others' allreduces with zeros until all have
  /// joined.
  Status Join(OnJoined on_joined);

 private:
  struct Entry {
    Request request;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    OnDone on_done;  ///< always, but of a tensor that this rank has not submitted
    bool decided = false;
  };
  /// What rank 0 knows of this rank's tensor already.
  struct Known {
    Request request;
    TensorId id = 0;
  };

  Status Add(Entry entry);

  // On the links' thread:
  void Flush();
  void OnMessage(int from, const std::string& message);
  void Submit(int rank, const Submission& submission);
  void Decide();
  void Take(Decision decision);
  void OnFailure(const Status& status);
  /// All that are on their way; `decided`: also what the data thread would do.
  void FailWaiting(const Status& status, bool decided);

  // On the data thread:
  void RunData();
  void Execute(const Decision& decision);
  Status Reduce(const Decision& decision, const std::vector<Entry>& entries, Deadline deadline);
  /// Those of this rank, no longer on their way; without a callback where it has joined.
  std::vector<Entry> TakeEntries(const Decision& decision);

  const Options options_;
  const std::unique_ptr<Members> members_;
  const int rank_;

  // Of the links' thread:
  std::unordered_map<std::string, Known> known_;
  std::unique_ptr<Coordinator> coordinator_;  ///< of rank 0

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, Entry> entries_;  ///< on their way, by name
  std::vector<std::string> unsaid_;                 ///< names that rank 0 has not heard of
  std::deque<Decision> decisions_;
  bool flushing_ = false;
  bool join_unsaid_ = false;
  bool executing_ = false;
  bool stopping_ = false;
  Status failure_;
  OnJoined on_joined_;  ///< while this rank has joined

  std::vector<std::byte> fusion_;  ///< of the data thread
  std::thread data_;
};

}  // namespace tony::collective
