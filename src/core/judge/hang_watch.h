// Notices that a program makes no progress any more, by its own pace and its use of processors.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/model/task_id.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// A task that makes no progress.
struct Standstill {
  TaskId task;
  int64_t step = 0;         ///< the last one that it named
  Duration idle{0};         ///< since then
  Duration limit{0};        ///< the longest time that is usual for it
  double cpu_share = 0;     ///< cores that it has used since then, on the average
  double usual_share = -1;  ///< cores that it used while it made progress; -1: not known
  bool gpu_busy = false;    ///< its GPUs have been busy all the time

  bool operator==(const Standstill&) const = default;
};

/// "worker:1 has named no step for 2m 05s after step 120 (usually at most 12s) and uses 0.0 of its
/// usual 3.4 cores".
std::string StandstillText(const Standstill& standstill);

/// One job's tasks, by their measurements. A task counts from the second step on that it names
/// (TONY_PROGRESS, tony.report()), and again after each restart; one that names none is never
/// judged.
/// 1. The gaps between the steps of the last kGaps times are kept for each phase that the program
///    names, since a checkpoint takes longer than a step. The limit is the greatest of kLeast and
///    kTimesUsual × their 99th percentile; or the time that is configured.
/// 2. The task stands still if it has named no step for longer than the limit, and either its CPU
///    time since then is below kIdleShare of its usual one (of a core, if it has hung before that
///    was measured), or its GPUs have been busy at every measurement since then: an exchange that
///    spins waits for a peer that does not come.
/// 3. The job hangs if some task stands still and all others that are judged are beyond their
/// limits,
///    too: a straggler's peers wait, but go on.
/// Memory is bounded by the number of tasks. Not thread safe: owned by the state machine.
class HangWatch {
 public:
  static constexpr size_t kGaps = 200;
  static constexpr size_t kPhases = 8;
  static constexpr std::chrono::seconds kLeast{60};
  static constexpr double kTimesUsual = 3;
  static constexpr double kIdleShare = 0.2;
  static constexpr double kBusyGpu = 90;  ///< percent
  /// Fewer gaps than this say nothing about the usual pace.
  static constexpr size_t kFewestGaps = 3;

  /// `limit`: in place of the limit of rule 1; 0: that one.
  explicit HangWatch(Duration limit) : fixed_limit_(limit) {}

  /// A measurement of a task's run.
  void On(const TaskId& task, int attempt, const TaskUsage& usage, TimePoint now);
  /// The task's run is over.
  void Forget(const TaskId& task) { runs_.erase(task); }

  /// The tasks that stand still, if the job hangs; the longest first. Empty: it does not.
  std::vector<Standstill> Hanging() const;
  /// Whether the task names steps at a pace that is known.
  bool Judges(const TaskId& task) const;

 private:
  struct Run {
    int attempt = 0;
    int64_t step = -1;
    /// The phase that was named last since the newest step, also when it is over by now: the work
    /// until the next step is counted for it.
    std::string gap_phase;
    std::map<std::string, std::deque<Duration>> gaps;  ///< by phase
    TimePoint progressed_at;                           ///< when it named its newest step
    double cpu_at_progress = 0;                        ///< its CPU seconds when that was measured
    TimePoint seen_at;                                 ///< when that was measured
    double share_sum = 0;  ///< of cores used in measurements with progress
    int shares = 0;
    double cpu_seconds = 0;  ///< at the newest measurement
    TimePoint measured_at;
    bool gpu_busy = false;  ///< at every measurement since the newest step
  };

  static void OnStep(Run& run, const TaskUsage& usage, TimePoint now);
  std::optional<Duration> LimitOf(const Run& run) const;

  const Duration fixed_limit_;
  std::map<TaskId, Run> runs_;
};

}  // namespace tony::core
