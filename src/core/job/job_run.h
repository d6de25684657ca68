// The state that all parts of a job's state machine share, and the answer that they write together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "core/job/job_effect.h"
#include "core/judge/success_policy.h"
#include "core/model/cluster_spec.h"
#include "core/model/job_description.h"
#include "core/record/task_table.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/schedule/group_deadlines.h"
#include "core/tasks/job_state.h"

namespace tony::core {

/// One job, as its state machine sees it. Not thread safe: owned by the state machine.
struct JobRun {
  explicit JobRun(JobDescription description)
      : job(std::move(description)),
        policy(job),
        groups(job.dependency_timeouts),
        tasks(job.types) {}
  JobRun(const JobRun&) = delete;  // tasks point into the description
  JobRun& operator=(const JobRun&) = delete;

  /// Adds a decision to the journal, ahead of all other effects of this answer.
  template <typename Kind>
  void Note(Kind decision) {
    decisions.push_back(std::move(decision));
  }
  template <typename Effect>
  void Do(Effect effect) {
    effects.push_back(std::move(effect));
  }
  /// True when the message belongs to the epoch and attempt for which the task was prepared last.
  template <typename Message>
  bool IsCurrent(const Task* task, const Message& message) const {
    return task != nullptr && message.epoch == epoch && message.attempt == task->attempt;
  }

  const JobDescription job;
  SuccessPolicy policy;
  GroupDeadlines groups;
  TaskTable tasks;
  JobState state = JobState::kNew;
  int epoch = 0;
  TimePoint now;  ///< time of the input being applied
  TimePoint started_at;
  TimePoint state_since;
  std::optional<TimePoint> running_since;  ///< newest start of programs in this epoch
  std::optional<Verdict> verdict;
  /// This epoch's spec; null until a gang was complete. Where tasks start one by one, that of the
  /// task started last.
  std::shared_ptr<const ClusterSpec> spec;
  std::shared_ptr<const RendezvousPlan> plan;  ///< this epoch's plan; null without one
  std::string allocation_wait;        ///< the backend's last reason why containers do not come
  std::optional<TimePoint> judge_at;  ///< when the failures so far are judged; set until then
  /// The last recorded wait of a stage for others; a change of the job's state ends it.
  std::optional<JobWaiting> stage_wait;
  // The parts only set these marks; each is looked at once after the whole input.
  bool progressed = false;       ///< the tasks that a stage waits for may have changed
  bool missing = false;          ///< some task may need a container requested
  bool members_changed = false;  ///< an elastic job's member list may have changed
  Decisions decisions;           ///< decisions of the input being applied
  JobEffects effects;            ///< effects of the input being applied
};

}  // namespace tony::core
