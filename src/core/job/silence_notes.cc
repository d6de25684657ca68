// One silent task says nothing: often only rank 0 prints. So the executors' reports are collected.
#include "core/job/silence_notes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/record/duration_text.h"
#include "core/tasks/task_names.h"

namespace tony::core {
namespace {

/// From this share of a core on a task is said to compute. A program that waits may poll a little.
constexpr double kComputes = 0.2;

}  // namespace

void SilenceNotes::On(const Task& task, const input::TaskSilent& silent) {
  if (silent.silent_millis <= 0) {
    silences_.erase(task.id);
    noted_ = false;
    return;
  }
  silences_[task.id] = {task.attempt, silent.silent_millis, silent.cpu_share};
  RecordIfAllAreSilent();
}

const SilenceNotes::Silence* SilenceNotes::SilenceOf(const Task& task) const {
  const auto found = silences_.find(task.id);
  return found == silences_.end() || found->second.attempt != task.attempt ? nullptr
                                                                           : &found->second;
}

void SilenceNotes::RecordIfAllAreSilent() {
  if (noted_ || run_.state != JobState::kRunning) return;
  std::vector<std::string> texts;
  size_t more = 0;
  int64_t shortest = 0;
  for (const Task& task : run_.tasks.all()) {
    if (task.tracking() != Tracking::kTracked || task.over()) continue;
    const Silence* silence = SilenceOf(task);
    // A task that does not run yet is awaited for another reason, which is recorded.
    if (task.state != TaskState::kRunning || silence == nullptr) return;
    shortest = shortest == 0 ? silence->silent_millis : std::min(shortest, silence->silent_millis);
    if (texts.size() == kMostTaskNames) {
      ++more;
      continue;
    }
    const auto percent = std::lround(100 * silence->cpu_share);
    texts.push_back(absl::StrCat(task.id.ToString(),
                                 silence->cpu_share >= kComputes ? " computes (" : " waits (",
                                 percent, " % of a core)"));
  }
  if (texts.empty()) return;
  if (more > 0) texts.push_back(absl::StrCat("and ", more, " more"));
  noted_ = true;
  run_.Do(effect::Record{
      JobNote{absl::StrCat("No task has printed anything for ", FormatDuration(shortest), ": ",
                           absl::StrJoin(texts, ", "))}});
}

}  // namespace tony::core
