// The groups in which this rank takes part: of all ranks, and of process sets.
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

/// Sets are made and removed by decisions, which all ranks do in the same order. Run() and Leads()
/// are of the data thread; Find() is thread safe.
class ProcessSets {
 public:
  /// `gpu`: of all ranks; that of a set is like it, and says nothing.
  ProcessSets(Group& all, GpuPlane::Setup gpu);

  struct Place {
    int rank = 0;  ///< this one, among the set's
    int ranks = 0;
  };
  /// InvalidArgument: there is no such set, or this rank does not belong to it.
  Result<Place> Find(SetId set) const;
  /// Whether this rank is the first one of a set.
  bool Leads(SetId set) const;

  /// As Execution::Run(), for the decision's set; of kAddSet the output tells its number.
  /// ResourceExhausted, FailedPrecondition of kAddSet: all ranks are told the same, and the rest
  /// goes on. After any other error than InvalidArgument nothing is done any more.
  Status Run(const Decision& decision, const std::vector<Tensor>& tensors,
             std::vector<Output>& outputs, Deadline deadline);
  /// As Execution::RunOnGpu(), for the decision's set.
  void RunOnGpu(const Decision& decision, std::vector<Tensor> tensors,
                std::chrono::milliseconds patience);
  /// See GpuPlane::Fail(), of all sets. Thread safe.
  void FailGpus(const std::string& why, Deadline when);
  /// Until what GPUs have is done; when no decision follows.
  void FinishGpus();
  /// Whether a decision that came to this ends everything.
  static bool EndsAll(const Decision& decision, const Status& status);

 private:
  /// Of a set that this rank does not belong to only the members are known.
  struct Set {
    std::vector<int> members;
    std::unique_ptr<Group> group;  ///< null also of all ranks, whose group is another's
    std::unique_ptr<Execution> execution;
    Place place;
  };

  Status Add(const Decision& decision, Output& output, Deadline deadline);
  Status Remove(SetId set, Deadline deadline);
  Status SetPoints(const std::string& table);

  GpuPlane::Setup SetupFor(const std::vector<int>& members) const;

  Group& all_;
  const GpuPlane::Setup gpu_;
  mutable std::mutex mutex_;  ///< changes happen in the data thread, which so reads without it
  std::map<SetId, Set> sets_;
  std::map<SetId, Status> refused_;  ///< sets that could not be made
  Status failure_;
  std::string gpu_failure_;  ///< if not empty: of GPUs, also of sets to come
  Deadline gpu_failing_;
};

}  // namespace tony::collective
