// What to do after the failure of a task: what to start anew, when, and at whose expense.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "common/clock.h"
#include "core/model/job_description.h"
#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

/// At whose expense tasks start anew.
enum class RestartBudget {
  kUser,            ///< tony.am.retry-count
  kInfrastructure,  ///< tony.am.infrastructure-retry-count
  kLostPort,        ///< RestartPolicy::kLostPortRestarts: free of charge for the two others
};

/// The failure of one task: the guilty one, where several have failed.
struct RestartCause {
  TaskId task;
  RestartScope scope = RestartScope::kJob;  ///< of the task's type
  /// kLost also where nobody saw a process end: lost heartbeats, a registration that took too long.
  TaskExit exit;
  bool container_lost = false;  ///< its container has to be replaced
  bool port_taken = false;      ///< a stranger listens on one of its reserved ports
  /// The newest start of tasks: of all, or of some after a narrower restart. Nothing before the
  /// gang is complete.
  std::optional<TimePoint> running_since;
};

struct Restart {
  RestartScope scope = RestartScope::kJob;
  TimePoint not_before;  ///< never earlier than the failure
  RestartBudget budget = RestartBudget::kUser;
  int user_left = 0;  ///< restarts that each budget still pays for, after this one
  int infrastructure_left = 0;
  int lost_port_left = 0;

  bool operator==(const Restart&) const = default;
};

struct GiveUp {
  RestartBudget budget = RestartBudget::kUser;  ///< the one that is used up
  std::string sentence;  ///< which budget, and that it is used up; without full stop

  bool operator==(const GiveUp&) const = default;
};

using RestartDecision = std::variant<Restart, GiveUp>;

/// What a RestartPolicy remembers. An ApplicationMaster that continues another one's job gives it
/// back to the constructor.
struct RestartState {
  int user = 0;  ///< restarts that each budget has paid for
  int infrastructure = 0;
  int lost_port = 0;
  int in_a_row = 0;  ///< restarts without a good while of running in between

  bool operator==(const RestartState&) const = default;
};

/// 1. Whose expense. The infrastructure's: a container or an executor was lost, was silent for too
///    long, or did not register in time, or a Horovod job's driver, tony's own, was killed; a lost
///    machine is not the program's fault. Otherwise free
///    of charge: one of the task's reserved ports was taken by a stranger, kLostPortRestarts times.
///    Otherwise the user's: the program failed, or could not be started. So is a program that ran
///    for longer than its execution-timeout-ms: the limit is the user's own, it would take as long
///    on another machine, and without a word of the user's nobody should wait for it four times.
/// 2. A budget that is used up ends the job. Budgets are never filled up again: what fails again
///    and again, however slowly, is somebody's to look at.
/// 3. What starts anew: what tony.<type>.restart-scope says of the task's type; but the whole job
///    where the gang was not complete yet, where the container was lost, and where a port was: only
///    a new epoch brings other addresses, and only then do all others learn of them.
/// 4. When: the first restart at once, the next after tony.am.retry-backoff-ms, and each further
///    one after twice as long, up to tony.am.retry-backoff-max-ms. Tasks that had run for longer
///    than that maximum since their newest start had recovered: it begins anew, with a restart at
///    once.
/// Not thread safe. Does no I/O.
class RestartPolicy {
 public:
  /// How often the job may lose a port without paying.
  static constexpr int kLostPortRestarts = 3;

  explicit RestartPolicy(const JobDescription& job, RestartState state = {});

  /// Decides about one failure that is to be answered, at `now`, and spends what it takes. Failures
  /// that come while the restart is under way and only belong to it are not asked about.
  RestartDecision Decide(const RestartCause& cause, TimePoint now);

  /// Goes on from what was journaled.
  void Restore(const RestartState& state) { state_ = state; }
  /// To be journaled after each Restart, before it is carried out.
  const RestartState& state() const { return state_; }

 private:
  RestartBudget BudgetOf(const RestartCause& cause) const;
  /// How long the next restart waits; it then counts as one of those in a row.
  Duration NextDelay(const RestartCause& cause, TimePoint now);

  const int user_allowed_;
  const int infrastructure_allowed_;
  const Duration backoff_;
  const Duration backoff_max_;
  RestartState state_;
};

}  // namespace tony::core
