// The groups in which this rank takes part: the group of all ranks, and those of process sets.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/engine/execution.h"
#include "collective/group/group.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"

namespace tony::collective {

/// Sets are made and removed by decisions, which all ranks execute in the same order. Run() and
/// Leads() are of the data thread; Find() is thread safe.
class ProcessSets {
 public:
  /// `gpu`: the setup for the set of all ranks. Process sets get the same setup, without `say`.
  ProcessSets(Group& all, GpuPlane::Setup gpu);

  struct Membership {
    int rank = 0;  ///< this rank, counted within the set
    int ranks = 0;
  };
  /// InvalidArgument – there is no such set, or this rank does not belong to it.
  Result<Membership> Find(SetId set) const;
  /// Whether this rank is the first rank of a set.
  bool Leads(SetId set) const;

  /// Executes a decision in its set, as Execution::Run() does; makes and removes sets. The output
  /// of kAddSet tells the set's number. ResourceExhausted, FailedPrecondition – of kAddSet: all
  /// ranks get the same error and the rest goes on. After any other error but InvalidArgument each
  /// later call fails.
  Status Run(const Decision& decision, const std::vector<Tensor>& tensors,
             std::vector<Output>& outputs, Deadline deadline);
  /// Begins a decision about tensors on GPUs in its set, as Execution::RunOnGpu() does.
  void RunOnGpu(const Decision& decision, std::vector<Tensor> tensors,
                std::chrono::milliseconds patience);
  /// Calls GpuPlane::Fail() of all sets. Thread safe.
  void FailGpus(const std::string& why, Deadline when);
  /// Waits until the GPUs' work of all sets is done. Called when no decision follows.
  void FinishGpus();
  /// Whether `status`, the outcome of a decision, ends everything.
  static bool EndsAll(const Decision& decision, const Status& status);

 private:
  /// A set. If this rank does not belong to it, only `members` is set.
  struct Set {
    std::vector<int> members;
    /// Null for the set of all ranks, too: its group is owned elsewhere.
    std::unique_ptr<Group> group;
    std::unique_ptr<Execution> execution;
    Membership membership;
  };

  Status Add(const Decision& decision, Output& output, Deadline deadline);
  Status Remove(SetId set, Deadline deadline);
  Status SetPoints(const std::string& table);

  GpuPlane::Setup SetupFor(const std::vector<int>& members) const;

  Group& all_;
  const GpuPlane::Setup gpu_;
  /// Guards changes of `sets_`, which the data thread alone makes and so reads without the mutex,
  /// and what FailGpus() keeps. Other threads always hold it.
  mutable std::mutex mutex_;
  std::map<SetId, Set> sets_;
  std::map<SetId, Status> refused_;  ///< sets that could not be made, and why
  Status failure_;
  std::string gpu_failure_;  ///< if not empty: why GPUs have failed, also in sets made later
  Deadline gpu_failing_;
};

}  // namespace tony::collective
