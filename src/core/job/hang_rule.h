// What follows when a job makes no progress: the stacks are kept, and perhaps the job restarts.
#pragma once

#include <optional>

#include "core/job/job_run.h"
#include "core/judge/hang_watch.h"

namespace tony::core {

struct JobParts;

/// What follows when a job makes no progress.
enum class HangAction {
  kWarn,     ///< a note, and the stacks are kept
  kRestart,  ///< also: counts as a failure of the task that has stood still for longest
  kFail,     ///< also: the job fails
};

struct HangSettings {
  HangAction action = HangAction::kWarn;
  std::chrono::milliseconds limit{0};  ///< time without a step; 0: by the program's own pace
};

/// The steps, each once while the job hangs (HangWatch), and anew after it has gone on:
///
///   hangs ─▶ stacks kept, note ─ kLookAgain ─▶ stacks kept, note ─ kKeeping ─▶
///   tony.task.hang-action
///
/// Nothing is ended before the stacks have had time to be kept. Not thread safe: owned by the state
/// machine.
class HangRule {
 public:
  /// The pause between two looks at all tasks.
  static constexpr std::chrono::seconds kLook{5};
  static constexpr std::chrono::seconds kLookAgain{30};
  /// Longer than executors have to send their stacks.
  static constexpr std::chrono::seconds kKeeping{5};

  HangRule(JobRun& run, const JobParts& parts, const HangSettings& settings)
      : run_(run), parts_(parts), action_(settings.action), watch_(settings.limit) {}

  /// A measurement of the task's present run.
  void On(const Task& task, const TaskUsage& usage) {
    watch_.On(task.id, task.attempt, usage, run_.now);
  }
  /// Called when time has passed.
  void Check();

 private:
  enum class Step { kGoesOn, kKept, kKeptAgain, kActed };

  void Advance(const Standstill& worst);
  void Act(const Standstill& worst);

  JobRun& run_;
  const JobParts& parts_;
  const HangAction action_;
  HangWatch watch_;
  Step step_ = Step::kGoesOn;
  int epoch_ = 0;                       ///< of the step
  TimePoint since_;                     ///< of the step
  std::optional<TimePoint> looked_at_;  ///< the newest look at all tasks
};

}  // namespace tony::core
