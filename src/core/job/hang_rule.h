// What follows when a job makes no progress: the stacks are kept, and perhaps the job restarts.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/job/job_input.h"
#include "core/job/job_run.h"
#include "core/judge/hang_watch.h"

namespace tony::core {

struct JobParts;

/// What follows when a job makes no progress.
enum class HangAction {
  kWarn,     ///< a note, and the stacks are kept
  kRestart,  ///< also: counts as a failure of the task for which the others seem to wait
  kFail,     ///< also: the job fails
};

struct HangSettings {
  HangAction action = HangAction::kWarn;
  std::chrono::milliseconds limit{0};  ///< time without a step; 0: by the program's own pace
};

/// The steps, each once while the job hangs (HangWatch), and anew after it has gone on:
///
///   hangs ─▶ stacks, note ─ kLookAgain ─▶ stacks, note ─ kKeeping ─▶ tony.task.hang-action
///                 ▲                                          │
///                 └────── somebody works: twice the pause ◀──┘
///
///  1. Nothing is ended before the stacks have had time to be kept.
///  2. A task that computes, and whose program was at another place at the look before, works: it
///     evaluates without naming a phase, say, and the others wait for it. Then nothing is ended,
///     and there is another look, each after twice the pause. One that computes at the same place
///     spins, and one that moves without computing polls: both are part of a hang.
///  3. The action meets the task whose stacks are unlike those of most (StacksKept::suspect), or
///     else the one that has stood still for longest: whom the others wait for, and not who waits.
///
/// Not thread safe: owned by the state machine.
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
  /// What the newest look has found.
  void On(const input::StacksKept& kept);
  /// Called when time has passed.
  void Check();

 private:
  enum class Step { kGoesOn, kKept, kKeptAgain, kActed };

  void Advance(const std::vector<Standstill>& hanging);
  bool SomebodyWorks(const std::vector<Standstill>& hanging) const;
  void Act(const std::vector<Standstill>& hanging);

  JobRun& run_;
  const JobParts& parts_;
  const HangAction action_;
  HangWatch watch_;
  Step step_ = Step::kGoesOn;
  int epoch_ = 0;                       ///< of the step
  TimePoint since_;                     ///< of the step
  Duration pause_{0};                   ///< until the next look with stacks
  std::optional<TaskId> suspect_;       ///< by the newest stacks
  std::set<TaskId> moved_;              ///< between the newest two looks
  std::optional<TimePoint> looked_at_;  ///< the newest look at all tasks
};

}  // namespace tony::core
