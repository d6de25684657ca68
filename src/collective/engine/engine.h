// A rank's engine: takes named tensors from the program and runs the collective operations on them
// in the order that rank 0 decides.
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
/// 2. The links' thread tells rank 0 about them. Rank 0 decides (set_coordinators.h) and sends each
///    decision to the ranks that take part. It decides when its data thread is idle, so that
///    tensors which become ready meanwhile are fused.
/// 3. The data thread executes the decisions in their order and calls the callbacks of the
///    submitters.
/// No thread runs while nobody submits. Thread safe.
class Engine {
 public:
  struct Options {
    Coordinator::Limits limits;
    /// How long a rank waits for the others to come to a decided operation. All ranks that take
    /// part have submitted it by then.
    std::chrono::milliseconds patience = std::chrono::seconds(60);
    GpuOptions gpu;
    NcclGroup::Options nccl;
    /// Receives sentences that users should see once, from a thread of rank 0's engine. Empty: the
    /// sentences are dropped.
    std::function<void(const std::string&)> say;
  };
  using OnDone = collective::OnDone;
  using Output = collective::Output;
  using OnOutput = collective::OnOutput;
  using Tensor = collective::Tensor;
  /// `last`: the rank that joined last; below 0 with an error.
  using OnJoined = std::function<void(const Status&, int last)>;

  /// Throws std::system_error if the data thread or the links' thread cannot be started. If it was
  /// the data thread, the other ranks are told first.
  Engine(std::unique_ptr<Members> members, Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Tensors that still wait end with FailedPrecondition: the engine was shut down.
  ~Engine();

  // A tensor belongs to all ranks or, with `request.set`, to the ranks of a process set. Then
  // "ranks" below means the ranks of the set, except for the root, which is a rank of the job.
  //
  // A call is refused with:
  // InvalidArgument – a tensor of this name is on its way already; a length is negative; the tensor
  // is larger than any memory; this rank does not belong to the set. FailedPrecondition – the
  // engine was shut down, or this rank has joined.
  //
  // An accepted call ends with its callback. Errors of the callback:
  // InvalidArgument – the ranks do not agree (the message says what each submits), or one rank asks
  // for something impossible. Aborted, DeadlineExceeded – a rank is gone. ResourceExhausted – this
  // rank has no memory for it. After the latter three the engine does nothing more.
  //
  // Buffers must live until the callback.

  /// `out`: the sum, or the reduction `request.kind.reduce`, of all ranks' `in`. Each `in` is
  /// multiplied by `prescale` before, the result by `postscale` after. Both buffers have the
  /// request's shape; `out` may be `in`.
  Status AllReduce(Request request, const void* in, void* out, OnDone on_done);
  /// Concatenates all ranks' `in` in the first dimension, which may differ between ranks.
  Status AllGather(Request request, const void* in, OnOutput on_output);
  /// Copies `data` of the rank `request.kind.root` into `data` of all other ranks.
  Status Broadcast(Request request, void* data, OnDone on_done);
  /// Reduces as AllReduce() does. Each rank gets its part of the result's rows (first dimension):
  /// the rows divided by the number of ranks, and the first ranks get one row more if they do not
  /// divide evenly.
  Status ReduceScatter(Request request, const void* in, OnOutput on_output);
  /// The first `request.splits[0]` rows of `in` go to rank 0, the next splits[1] rows to rank 1,
  /// and so on. Without splits each rank gets equally many rows, if they divide evenly. The output
  /// has the received rows in the order of the ranks that sent them.
  Status AllToAll(Request request, const void* in, OnOutput on_output);
  /// Submits all tensors, or none if it returns an error. `group`: a name that no other group has
  /// until these tensors are done; with it no tensor of the group is done before all ranks have
  /// submitted all of them. Callbacks of tensors whose `request.kind.device` is a GPU come from
  /// another thread; see `tensor.gpu`. Their callbacks have one more error, which all ranks get:
  /// FailedPrecondition – a rank has no GPU or no NCCL; the engine goes on.
  Status Submit(std::vector<Tensor> tensors, const std::string& group = "");
  /// `on_done` is called when all ranks have come to the barrier of this name.
  Status Barrier(std::string name, OnDone on_done, SetId set = kAllRanks);
  /// Makes a process set of `ranks` (ranks of the job). All ranks of the job call it with the same
  /// `name`. `on_output` gets the set's number; a set of the same ranks that exists already is the
  /// same set. More errors of the callback, after which the engine goes on: FailedPrecondition,
  /// ResourceExhausted – there is no memory for the set.
  Status AddSet(std::string name, std::vector<int> ranks, OnOutput on_output);
  /// Removes a process set. All ranks of the job call it with the same `name`. Tensors that still
  /// wait in the set end with FailedPrecondition.
  Status RemoveSet(std::string name, SetId set, OnDone on_done);
  /// This rank's place in a set. InvalidArgument – there is no such set, or this rank does not
  /// belong to it.
  Result<ProcessSets::Membership> MembershipIn(SetId set) const { return sets_.Find(set); }
  /// The arena of buffers that are reduced where they lie (group.h); null: there is none.
  std::shared_ptr<Arena> arena() const { return members_->group().arena(); }

  /// The settings that autotuning tries while the program trains, its options, and the file for its
  /// table of samples.
  struct Tuning {
    Tunable what;
    Autotune::Options options;
    std::string log;  ///< path of the table; empty: no table
  };
  /// Starts autotuning, at rank 0 only: tries settings on the tensors that the program submits and
  /// keeps the best ones. Options::say gets a sentence about the choice. FailedPrecondition – this
  /// rank is not rank 0; it was called before; the file cannot be written.
  Status StartAutotune(const Tuning& tuning);

  /// Counters, timeline and stall reports of this engine.
  Watch& watch() { return watch_; }

  /// Says that this rank has no more data: until all ranks have joined it takes part in the others'
  /// allreduces with neutral elements. `gpu`: the GPU that this rank uses if the others reduce on
  /// GPUs and it has used none yet; below 0: not said.
  Status Join(OnJoined on_joined, int gpu = -1);

 private:
  struct Entry {
    Tensor tensor;
    bool decided = false;
  };
  /// Rank 0's knowledge about a tensor of this rank: its last request, and its number.
  struct Known {
    Request request;
    TensorId id = 0;
  };

  static Status ShutDown();
  void Listen();
  /// Ends the data thread and leaves the other ranks. No callback comes from the threads
  /// afterwards.
  void Stop();
  /// Sends `message` to rank 0; at rank 0, to all other ranks.
  void Spread(const std::string& message);
  Watch::Callbacks WatchCallbacks();
  Status Add(Operation operation, Tensor tensor);
  /// Fills in each request's missing fields. Returns ok, or what is wrong with one of the tensors,
  /// whatever other ranks submit.
  Status Complete(std::vector<Tensor>& tensors, const std::string& group) const;
  /// Writes into `request.fault` why a GPU's tensor cannot take part, if it cannot.
  void Locate(Tensor& tensor) const;
  /// Ok, or why nothing can be submitted. The caller holds the mutex.
  Status Refusal() const;

  // On the links' thread:
  void Flush();
  void OnMessage(int from, const std::string& message);
  void Submit(int rank, const Submission& submission);
  void Decide();
  /// Sends a decision to all of `members`; hands it to Take() here if rank 0 is one of them.
  void Tell(Decision decision, const std::vector<int>& members);
  /// Sets a timer that calls Decide() when the coordinators' window ends.
  void DecideLater();
  void Use(const Settings& settings);
  void Take(Decision decision);
  /// `parting`: a rank has left in order. It has done its part of the work that GPUs still have, so
  /// that work gets time to end.
  void OnFailure(const Status& status, bool parting = false);
  /// Ends all tensors on their way with `status`. `decided`: includes the decided ones, which the
  /// data thread would execute.
  void FailWaiting(const Status& status, bool decided);
  /// Ends all tensors of a set that was removed.
  void FailSet(SetId set);

  // On the data thread:
  void RunData();
  void Execute(const Decision& decision);
  /// Called by a set's first rank: tells rank 0 that this rank has executed all decisions of the
  /// set that it knows of.
  void TellIdle(SetId set);
  /// Takes this rank's tensors of a decision out of the table of tensors on their way. A tensor
  /// that this rank does not have is not submitted(); its `joined` says whether this rank has
  /// joined.
  std::vector<Tensor> TakeTensors(const Decision& decision);

  const Options options_;
  const std::unique_ptr<Members> members_;
  const int rank_;
  Watch watch_;
  const std::shared_ptr<RankGpu> gpu_;

  // Owned by the links' thread:
  std::unordered_map<TensorKey, Known, TensorKey::Hash> known_;
  bool failure_told_ = false;
  std::unique_ptr<SetCoordinators> coordinator_;  ///< rank 0 only
  std::optional<Deadline> deciding_at_;
  std::shared_ptr<Autotune> autotune_;  ///< null: nothing is tuned, or no longer
  /// The switch points that all ranks have now, if they can be tuned.
  std::optional<SwitchPoints> points_;

  std::atomic<bool> tuned_ = false;  ///< StartAutotune() was called

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<TensorKey, Entry, TensorKey::Hash> entries_;  ///< tensors on their way
  std::vector<TensorKey> unsaid_;  ///< tensors that rank 0 has not been told of
  std::deque<Decision> decisions_;
  /// Sets that rank 0 has decided to add and that could not be made.
  std::vector<SetId> refused_sets_;
  bool flushing_ = false;
  bool join_unsaid_ = false;
  bool executing_ = false;
  bool stopping_ = false;
  Status failure_;
  OnJoined on_joined_;  ///< not null while this rank has joined

  ProcessSets sets_;
  std::thread data_;
};

}  // namespace tony::collective
