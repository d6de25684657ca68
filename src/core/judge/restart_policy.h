// The decision after a task's failure: which tasks restart, when, and from which budget.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "common/clock.h"
#include "core/model/job_description.h"
#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

/// The budget that pays for a restart.
enum class RestartBudget {
  kUser,            ///< tony.am.retry-count
  kInfrastructure,  ///< tony.am.infrastructure-retry-count
  kLostPort,        ///< RestartPolicy::kLostPortRestarts: not charged to the other two
};

/// The failure of one task; of several failed tasks, the guilty one.
struct RestartCause {
  TaskId task;
  RestartScope scope = RestartScope::kJob;  ///< scope of the task's type
  /// kLost also when no process was seen to end: lost heartbeats, or a late registration.
  TaskExit exit;
  bool container_lost = false;  ///< the container has to be replaced
  bool port_taken = false;      ///< a stranger listens on one of its reserved ports
  /// The newest start of tasks: of all tasks, or of some after a narrower restart. nullopt until
  /// the gang is complete.
  std::optional<TimePoint> running_since;
};

struct Restart {
  RestartScope scope = RestartScope::kJob;
  TimePoint not_before;  ///< never earlier than the failure
  RestartBudget budget = RestartBudget::kUser;
  int user_left = 0;  ///< restarts left in each budget after this one
  int infrastructure_left = 0;
  int lost_port_left = 0;

  bool operator==(const Restart&) const = default;
};

struct GiveUp {
  RestartBudget budget = RestartBudget::kUser;  ///< the exhausted budget
  std::string sentence;                         ///< names the exhausted budget; without full stop

  bool operator==(const GiveUp&) const = default;
};

using RestartDecision = std::variant<Restart, GiveUp>;

/// The memory of a RestartPolicy. An ApplicationMaster that takes over a job restores it.
struct RestartState {
  int user = 0;  ///< restarts charged to each budget
  int infrastructure = 0;
  int lost_port = 0;
  int in_a_row = 0;  ///< restarts without a good while of running in between

  bool operator==(const RestartState&) const = default;
};

/// 1. Budget. The infrastructure pays when a container or an executor was lost, was silent for too
///    long or did not register in time, or when tony's own Horovod driver was killed: a lost
///    machine is not the program's fault. Otherwise the restart is free, kLostPortRestarts times,
///    when a stranger took one of the task's reserved ports. Otherwise the user pays: the program
///    failed, or could not be started. A program that ran longer than its execution-timeout-ms is
///    charged to the user as well: the limit is the user's own, another machine would take as long,
///    and unless the user asks for it no job should spend that time four times.
/// 2. An exhausted budget ends the job. Budgets are never refilled: what fails again and again,
///    however slowly, needs a person's attention.
/// 3. Scope. tony.<type>.restart-scope of the task's type applies. The whole job restarts when the
///    gang was not complete yet, when the container was lost, and when a port was lost: only a new
///    epoch brings other addresses and tells them to all tasks.
/// 4. Time: exponential backoff. The first restart comes at once, the next after
///    tony.am.retry-backoff-ms, and each further one after twice as long, up to
///    tony.am.retry-backoff-max-ms. Tasks that had run for longer than that maximum since their
///    newest start had recovered: the backoff begins anew, with a restart at once.
/// Not thread safe. Does no I/O.
class RestartPolicy {
 public:
  /// How often a lost port is free of charge.
  static constexpr int kLostPortRestarts = 3;

  explicit RestartPolicy(const JobDescription& job, RestartState state = {});

  /// Decides about one failure at `now` and charges its budget. Do not ask about failures that come
  /// while the restart is under way and belong to it.
  RestartDecision Decide(const RestartCause& cause, TimePoint now);

  /// Restores the state from the journal.
  void Restore(const RestartState& state) { state_ = state; }
  /// The state to journal after each Restart, before the restart is carried out.
  const RestartState& state() const { return state_; }

 private:
  RestartBudget BudgetOf(const RestartCause& cause) const;
  /// The wait before the next restart, which is then counted as one of the row.
  Duration NextDelay(const RestartCause& cause, TimePoint now);

  const int user_allowed_;
  const int infrastructure_allowed_;
  const Duration backoff_;
  const Duration backoff_max_;
  RestartState state_;
};

}  // namespace tony::core
