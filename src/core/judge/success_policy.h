// When an attempt has failed or succeeded: TonY's rules, with one change.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/record/task_table.h"
#include "core/record/verdict.h"

namespace tony::core {

/// 1. A sidecar's end never counts.
/// 2. An untracked task that fails (a parameter server, say) fails the attempt.
/// 3. A tracked task that fails does so too when it is the chief (`chief:0`, or `worker:0` in a job
///    without that type), when its type is named in tony.application.stop-on-failure-jobtypes, when
///    another type depends on its type, which could then never start, when it is one of Horovod's
///    processes, without which the others cannot go on, or unless
///    tony.application.fail-on-worker-failure-enabled is false. (TonY: only when it is true.)
/// 4. When all tracked tasks have ended, the attempt succeeded, except where all of them failed.
/// These are the rules once all tasks may run; before, any failure counts (see JobMachine).
/// Stateless.
class SuccessPolicy {
 public:
  explicit SuccessPolicy(const JobDescription& job);

  /// Whether the end of `task` (state kFailed) fails the attempt by itself: rules 1 to 3.
  bool FailsAttempt(const Task& task) const;
  /// The verdict once all tracked tasks have ended; nothing before. Rule 4.
  std::optional<Verdict> JudgeAll(const TaskTable& tasks) const;
  /// "worker:1 was killed by signal 9 (SIGKILL)", with reason, guilty task and its exit.
  static Verdict FailureOf(const Task& task);

 private:
  bool has_chief_;
  bool fail_on_worker_failure_;
  std::set<std::string> needed_;  ///< types that others depend on, or cannot go on without
};

}  // namespace tony::core
