// All ranks execute the adding and removing of a set at the same place in the order of decisions,
// so no other operation on the CPU is under way meanwhile.
#include "collective/engine/process_sets.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

namespace tony::collective {

ProcessSets::ProcessSets(Group& all, GpuPlane::Setup gpu) : all_(all), gpu_(std::move(gpu)) {
  Set set = {.execution = std::make_unique<Execution>(all, gpu_),
             .membership = {.rank = all.rank(), .ranks = all.ranks()}};
  set.members.resize(static_cast<size_t>(all.ranks()));
  std::iota(set.members.begin(), set.members.end(), 0);
  sets_.emplace(kAllRanks, std::move(set));
}

Result<ProcessSets::Membership> ProcessSets::Find(SetId set) const {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(set);
  if (found == sets_.end()) {
    return Status(Code::kInvalidArgument, "there is no process set " + std::to_string(set) +
                                              ": it was removed, or never added");
  }
  if (found->second.execution == nullptr) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(all_.rank()) +
                                              " does not belong to process set " +
                                              std::to_string(set));
  }
  return found->second.membership;
}

bool ProcessSets::Leads(SetId set) const {
  const auto found = sets_.find(set);
  return found != sets_.end() && found->second.members.front() == all_.rank();
}

bool ProcessSets::EndsAll(const Decision& decision, const Status& status) {
  // A set that could not be made is no failure of the others: Group::Subgroup() tells all ranks the
  // same, so none waits for it.
  const bool refused =
      status.code() == Code::kResourceExhausted || status.code() == Code::kFailedPrecondition;
  return !status.ok() && !(refused && decision.kind.operation == Operation::kAddSet);
}

Status ProcessSets::Run(const Decision& decision, const std::vector<Tensor>& tensors,
                        std::vector<Output>& outputs, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  Status done;
  if (!decision.points.empty()) {
    done = SetPoints(decision.points);
  } else if (decision.kind.operation == Operation::kAddSet) {
    done = Add(decision, outputs[0], deadline);
  } else if (decision.kind.operation == Operation::kRemoveSet) {
    done = Remove(decision.subject, deadline);
  } else {
    done = sets_.at(decision.set).execution->Run(decision, tensors, outputs, deadline);
  }
  if (EndsAll(decision, done) && done.code() != Code::kInvalidArgument) failure_ = done;
  return done;
}

GpuPlane::Setup ProcessSets::SetupFor(const std::vector<int>& members) const {
  GpuPlane::Setup setup = gpu_;
  setup.names = members;
  // The group of all ranks has told the user about the GPUs already.
  setup.say = nullptr;
  return setup;
}

void ProcessSets::RunOnGpu(const Decision& decision, std::vector<Tensor> tensors,
                           std::chrono::milliseconds patience) {
  Execution& execution = *sets_.at(decision.set).execution;
  if (failure_.ok()) return execution.RunOnGpu(decision, std::move(tensors), patience);
  for (const Tensor& tensor : tensors) tensor.Tell(failure_, {});
}

void ProcessSets::FailGpus(const std::string& why, Deadline when) {
  const std::lock_guard lock(mutex_);
  // The failure with the earliest time counts: a rank that has ended leaves no time for a rank that
  // leaves in order.
  if (gpu_failure_.empty() || when < gpu_failing_) {
    gpu_failure_ = why;
    gpu_failing_ = when;
  }
  for (auto& [id, set] : sets_) {
    if (set.execution != nullptr) set.execution->gpu().Fail(why, when);
  }
}

void ProcessSets::FinishGpus() {
  for (auto& [id, set] : sets_) {
    if (set.execution != nullptr) set.execution->gpu().Finish();
  }
}

Status ProcessSets::Add(const Decision& decision, Output& output, Deadline deadline) {
  output.set = decision.subject;
  if (sets_.contains(decision.subject)) return {};
  // Rank 0 may decide to add the set again before it has learned that the set could not be made.
  const auto refused = refused_.find(decision.subject);
  if (refused != refused_.end()) return refused->second;
  try {
    Set set;
    for (const int64_t rank : decision.tensors[0].lengths) {
      set.members.push_back(static_cast<int>(rank));
    }
    auto group = all_.Subgroup(set.members, deadline);
    if (!group.ok()) return refused_[decision.subject] = group.status();
    set.group = std::move(*group);
    if (set.group != nullptr) {
      set.execution = std::make_unique<Execution>(*set.group, SetupFor(set.members));
      set.membership = {.rank = set.group->rank(), .ranks = set.group->ranks()};
    }
    const std::lock_guard lock(mutex_);
    // FailGpus() reaches only sets that exist, so a failure that came before is passed on here.
    if (set.execution != nullptr && !gpu_failure_.empty()) {
      set.execution->gpu().Fail(gpu_failure_, gpu_failing_);
    }
    sets_.emplace(decision.subject, std::move(set));
    return {};
  } catch (const std::bad_alloc&) {
    // The other ranks do not know that memory is missing here and would go on with the set, so the
    // group of all ranks fails.
    all_.Fail(all_.rank());
    return {Code::kAborted,
            "rank " + std::to_string(all_.rank()) + " has no memory for a process set"};
  }
}

Status ProcessSets::SetPoints(const std::string& table) {
  auto points = SwitchPoints::Decode(table, "rank 0");
  if (!points.ok()) return points.status();
  all_.SetPoints(*points);
  for (auto& [id, set] : sets_) {
    if (set.group != nullptr) set.group->SetPoints(*points);
  }
  return {};
}

Status ProcessSets::Remove(SetId set, Deadline deadline) {
  // The barrier comes before the group is retired: until all ranks have come, one of them may still
  // be fetching from the set's memory what this rank has done last.
  const auto found = sets_.find(set);
  if (found != sets_.end() && found->second.execution != nullptr) {
    found->second.execution->gpu().Finish();
  }
  if (Status met = all_.Barrier(deadline); !met.ok()) return met;
  if (found == sets_.end()) return {};
  if (found->second.group != nullptr) found->second.group->Retire();
  // Destroyed after the lock is released: its GPUs part, which takes a while.
  decltype(sets_)::node_type gone;
  const std::lock_guard lock(mutex_);
  gone = sets_.extract(found);
  return {};
}

}  // namespace tony::collective
