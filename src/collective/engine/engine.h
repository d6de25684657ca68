// One rank's end of the operations that all ranks do together, by name.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/engine/process_sets.h"
#include "collective/engine/set_coordinators.h"
#include "collective/group/members.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"
#include "collective/tune/autotune.h"
#include "collective/watch/watch.h"

namespace tony::collective {

/// 1. Any thread submits tensors, in any order.
/// 2. The links' thread tells rank 0 of them, which decides (set_coordinators.h) and tells those
/// who
///    take part. It decides when the data thread has nothing to do, so that what comes meanwhile is
///    fused.
/// 3. The data thread does what was decided, in that order, and calls whoever has submitted.
/// Nothing runs while nobody submits. Thread safe.
class Engine {
 public:
  struct Options {
    Coordinator::Limits limits;
    /// For ranks to come to an operation that was decided: all have submitted it by then.
    std::chrono::milliseconds patience = std::chrono::seconds(60);
    GpuOptions gpu;
    NcclGroup::Options nccl;
    /// What users should see once, from a thread of rank 0's engine; none: nobody asks.
    std::function<void(const std::string&)> say;
  };
  using OnDone = collective::OnDone;
  using Output = collective::Output;
  using OnOutput = collective::OnOutput;
  using Tensor = collective::Tensor;
  /// `last`: which rank was the last one to join; below 0 with an error.
  using OnJoined = std::function<void(const Status&, int last)>;

  /// Throws std::system_error where it cannot have its thread; then the others are told so.
  Engine(std::unique_ptr<Members> members, Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Who waits still is told that the engine was shut down.
  ~Engine();

  // Tensors are of all ranks or, with `request.set`, of those of a process set; then what is said
  // of ranks below means the set's, but for the root, which is a rank of the job.
  //
  // A call is refused with InvalidArgument: this name is on its way already; a length is negative;
  // the tensor is larger than any memory; this rank does not belong to the set. FailedPrecondition:
  // shut down, or joined. Otherwise it ends with its callback, which is told InvalidArgument where
  // ranks do not agree, with what they say, and where one rank asks for what there is not; Aborted,
  // DeadlineExceeded where one of them is gone; ResourceExhausted where there is no memory here.
  // After the latter three nothing goes on. Buffers live until the callback.

  /// `out` = the sum (or whatever `request.kind.reduce` says) of all ranks' `in`, each times
  /// `prescale`, the result times `postscale`. Both hold the request's shape; `out` may be `in`.
  Status AllReduce(Request request, const void* in, void* out, OnDone on_done);
  /// All ranks' `in`, one after the other in the first dimension, which may differ.
  Status AllGather(Request request, const void* in, OnOutput on_output);
  /// `data` of the rank `request.kind.root` to all others' `data`.
  Status Broadcast(Request request, void* data, OnDone on_done);
  /// Reduces as AllReduce() does. Each rank gets some rows of the result: of the first dimension
  /// divided by the number of ranks, and the first ranks one more.
  Status ReduceScatter(Request request, const void* in, OnOutput on_output);
  /// Of `in` the first `request.splits[0]` rows go to rank 0, then splits[1] to rank 1, …; without
  /// splits as many to each, if that is possible. What has come lies rank after rank.
  Status AllToAll(Request request, const void* in, OnOutput on_output);
  /// All of them at once or, with an error, none. With a `group`, a name that no other group has
  /// until they are done, none of them is done before all ranks have submitted all of them.
  /// Those whose `request.kind.device` is a GPU are told from another thread; `tensor.gpu`. For
  /// them FailedPrecondition besides, at all ranks, where a rank has no GPU or no NCCL; the rest
  /// goes on.
  Status Submit(std::vector<Tensor> tensors, const std::string& group = "");
  /// Until all ranks have come to the barrier of this name.
  Status Barrier(std::string name, OnDone on_done, SetId set = kAllRanks);
  /// All ranks make a set of some of them, the `ranks` of the job, by this name; `on_output` is
  /// told its number. One of the same ranks is the same set. Also FailedPrecondition and
  /// ResourceExhausted, after which the rest goes on: there is no memory for it.
  Status AddSet(std::string name, std::vector<int> ranks, OnOutput on_output);
  /// All ranks remove a set, by this name. Who waits in it still is told so.
  Status RemoveSet(std::string name, SetId set, OnDone on_done);
  /// This rank's place in a set. InvalidArgument: there is none.
  Result<ProcessSets::Place> PlaceIn(SetId set) const { return sets_.Find(set); }
  /// Of buffers that are reduced where they lie; null: there are none. (group.h)
  std::shared_ptr<Arena> arena() const { return members_->group().arena(); }

  /// What is tried while the program trains, and where a table of it is written.
  struct Tuning {
    Tunable what;
    Autotune::Options options;
    std::string log;  ///< a file; empty: none
  };
  /// Of rank 0: tries settings on what is submitted, and keeps the best ones, which
  /// Options::say tells. Once. FailedPrecondition: this is another rank; it was called before; the
  /// file cannot be written.
  Status StartAutotune(const Tuning& tuning);

  /// What is to be seen of it.
  Watch& watch() { return watch_; }

  /// This rank has no more data: it takes part in the others' allreduces with neutral elements
  /// until all have joined. `gpu`: which one it uses if they reduce on GPUs and it has not yet;
  /// below 0: it does not say.
  Status Join(OnJoined on_joined, int gpu = -1);

 private:
  struct Entry {
    Tensor tensor;
    bool decided = false;
  };
  /// What rank 0 knows of this rank's tensor already.
  struct Known {
    Request request;
    TensorId id = 0;
  };

  static Status ShutDown();
  void Listen();
  /// The threads: nothing is called from then on.
  void Stop();
  /// To rank 0, or from it to all others.
  void Spread(const std::string& message);
  Watch::Ports WatchPorts();
  Status Add(Operation operation, Tensor tensor);
  /// Each is completed. Ok, or what is wrong with one, whatever other ranks say.
  Status Complete(std::vector<Tensor>& tensors, const std::string& group) const;
  /// Says in the request where a GPU's tensor cannot take part.
  void Locate(Tensor& tensor) const;
  /// Under the mutex: ok, or why nothing can be submitted.
  Status Refusal() const;

  // On the links' thread:
  void Flush();
  void OnMessage(int from, const std::string& message);
  void Submit(int rank, const Submission& submission);
  void Decide();
  /// To all that it is for.
  void Tell(Decision decision, const std::vector<int>& members);
  /// When a window ends.
  void DecideLater();
  void Use(const Settings& settings);
  void Take(Decision decision);
  /// `parting`: of a rank that has left in order, which has done its part of what GPUs do still.
  void OnFailure(const Status& status, bool parting = false);
  /// All that are on their way; `decided`: also what the data thread would do.
  void FailWaiting(const Status& status, bool decided);
  /// Those of a set that has gone.
  void FailSet(SetId set);

  // On the data thread:
  void RunData();
  void Execute(const Decision& decision);
  /// The set's first rank tells rank 0 that it has done all of it that it knows of.
  void TellIdle(SetId set);
  /// Those of this rank, no longer on their way; not submitted where it has joined.
  std::vector<Tensor> TakeTensors(const Decision& decision);

  const Options options_;
  const std::unique_ptr<Members> members_;
  const int rank_;
  Watch watch_;
  const std::shared_ptr<RankGpu> gpu_;

  // Of the links' thread:
  std::unordered_map<TensorKey, Known, TensorKey::Hash> known_;
  bool failure_told_ = false;
  std::unique_ptr<SetCoordinators> coordinator_;  ///< of rank 0
  std::optional<Deadline> deciding_at_;
  std::shared_ptr<Autotune> autotune_;  ///< while there is something to try
  std::optional<SwitchPoints> points_;  ///< that all ranks have by now, if they were changed

  std::atomic<bool> tuned_ = false;  ///< StartAutotune() was called

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<TensorKey, Entry, TensorKey::Hash> entries_;  ///< on their way
  std::vector<TensorKey> unsaid_;  ///< of which rank 0 has not heard
  std::deque<Decision> decisions_;
  std::vector<SetId> refused_sets_;  ///< that rank 0 has decided on, but could not make
  bool flushing_ = false;
  bool join_unsaid_ = false;
  bool executing_ = false;
  bool stopping_ = false;
  Status failure_;
  OnJoined on_joined_;  ///< while this rank has joined

  ProcessSets sets_;
  std::thread data_;
};

}  // namespace tony::collective
