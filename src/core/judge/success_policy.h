// The rules for the success and failure of an attempt: TonY's, with one change.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/record/task_table.h"
#include "core/record/verdict.h"

namespace tony::core {

/// 1. A sidecar's end never counts.
/// 2. A failed untracked task (a parameter server, say) fails the attempt.
/// 3. A failed tracked task fails the attempt in each of these cases: it is the chief (`chief:0`,
///    or `worker:0` in a job without that type); its type is named in
///    tony.application.stop-on-failure-jobtypes; another type depends on its type and could then
///    never start; it is one of Horovod's processes, without which the others cannot go on; or
///    tony.application.fail-on-worker-failure-enabled is not false. (TonY: only when it is true.)
/// 4. When all tracked tasks have ended the attempt has succeeded, unless all of them failed. The
///    task that preprocesses for the others does not count.
/// These rules apply once all tasks may run; before that, any failure counts (see JobMachine).
/// Stateless.
class SuccessPolicy {
 public:
  explicit SuccessPolicy(const JobDescription& job);

  /// True when the end of `task` (state kFailed) fails the attempt by itself: rules 1 to 3.
  bool FailsAttempt(const Task& task) const;
  /// The verdict by rule 4; nullopt until all tracked tasks have ended.
  std::optional<Verdict> JudgeAll(const TaskTable& tasks) const;
  /// A failed verdict with the sentence "worker:1 was killed by signal 9 (SIGKILL)", the reason,
  /// the guilty task and its exit.
  static Verdict FailureOf(const Task& task);

 private:
  bool has_chief_;
  bool fail_on_worker_failure_;
  bool preprocesses_;
  std::set<std::string> needed_;  ///< types that other tasks cannot do without
};

}  // namespace tony::core
