// Measurements come each few seconds, so several steps may lie between two of them: then their mean
// is the gap, which hides no long one, since a long step spans measurements.
#include "core/judge/hang_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

/// The weight of one more share in the mean fades after so many.
constexpr int kMostShares = 200;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

int64_t Millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// "3.4", with one digit, whatever the locale.
std::string Cores(double share) {
  const auto tenths = std::llround(std::max(0.0, share) * 10);
  return absl::StrCat(tenths / 10, ".", tenths % 10);
}

}  // namespace

std::string StandstillText(const Standstill& standstill) {
  std::string text =
      absl::StrCat(standstill.task.ToString(), " has named no step for ",
                   FormatDuration(Millis(standstill.idle)), " after step ", standstill.step,
                   " (at most ", FormatDuration(Millis(standstill.limit)), " would be usual)");
  if (standstill.gpu_busy) return text + " while its GPUs were busy";
  absl::StrAppend(&text, " and uses ", Cores(standstill.cpu_share));
  if (standstill.usual_share >= 0) {
    absl::StrAppend(&text, " of its usual ", Cores(standstill.usual_share));
  }
  return text + " cores";
}

// The gap is counted for the phase that was named within it: programs name a phase before its work,
// and its end before the next step.
void HangWatch::OnStep(Run& run, const TaskUsage& usage, TimePoint now) {
  const Progress& progress = *usage.progress;
  const TimePoint at = now - FromSeconds(std::clamp(progress.idle_seconds, 0.0, 1e9));
  if (run.step >= 0 && at > run.progressed_at && progress.step > run.step) {
    std::deque<Duration>* gaps = nullptr;
    if (run.gaps.size() < kPhases || run.gaps.contains(run.gap_phase)) {
      gaps = &run.gaps[run.gap_phase];
    } else {
      gaps = &run.gaps.begin()->second;
    }
    const double steps = std::max<double>(1, static_cast<double>(progress.step - run.step));
    gaps->push_back(FromSeconds(Seconds(at - run.progressed_at) / steps));
    if (gaps->size() > kGaps) gaps->pop_front();
  }
  const double seconds = Seconds(now - run.seen_at);
  if (run.step >= 0 && seconds > 0) {
    const double share = std::max(0.0, usage.cpu_seconds - run.cpu_at_progress) / seconds;
    if (run.shares == kMostShares) run.share_sum -= run.share_sum / run.shares--;
    run.share_sum += share;
    ++run.shares;
  }
  run.step = progress.step;
  run.gap_phase = progress.phase;
  run.progressed_at = at;
  run.cpu_at_progress = usage.cpu_seconds;
  run.seen_at = now;
  run.gpu_busy = usage.gpu_utilization >= kBusyGpu;
}

void HangWatch::On(const TaskId& task, int attempt, const TaskUsage& usage, TimePoint now) {
  const auto known = runs_.find(task);
  if (known != runs_.end() && known->second.attempt != attempt) runs_.erase(known);
  if (!usage.progress || usage.progress->step < 0 || usage.progress->idle_seconds < 0 ||
      !std::isfinite(usage.progress->idle_seconds)) {
    return;
  }
  Run& run = runs_[task];
  run.attempt = attempt;
  if (!usage.progress->phase.empty()) run.gap_phase = usage.progress->phase;
  // A program that starts again by itself counts its steps anew: that is progress, too.
  if (usage.progress->step != run.step) {
    OnStep(run, usage, now);
  } else {
    run.gpu_busy = run.gpu_busy && usage.gpu_utilization >= kBusyGpu;
  }
  run.cpu_seconds = usage.cpu_seconds;
  run.measured_at = now;
}

std::optional<Duration> HangWatch::LimitOf(const Run& run) const {
  if (fixed_limit_ > Duration::zero()) return fixed_limit_;
  const auto found = run.gaps.find(run.gap_phase);
  // A phase that was not seen before may take as long as it likes.
  if (found == run.gaps.end() || found->second.size() < kFewestGaps) return std::nullopt;
  std::vector<Duration> gaps(found->second.begin(), found->second.end());
  const size_t rank = std::min(gaps.size() - 1, gaps.size() * 99 / 100);
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(rank), gaps.end());
  return std::max<Duration>(kLeast, FromSeconds(Seconds(gaps[rank]) * kTimesUsual));
}

bool HangWatch::Judges(const TaskId& task) const {
  const auto found = runs_.find(task);
  return found != runs_.end() && LimitOf(found->second).has_value();
}

std::vector<Standstill> HangWatch::Hanging() const {
  std::vector<Standstill> found;
  for (const auto& [task, run] : runs_) {
    const std::optional<Duration> limit = LimitOf(run);
    // While a task is in a phase that may take as long as it likes, the others may wait for it.
    if (!limit && !run.gap_phase.empty()) return {};
    if (!limit) continue;
    // Up to the newest measurement: what was not measured since, by an ApplicationMaster that was
    // stopped or an executor that is away, is not known to stand still.
    const Duration idle = run.measured_at - run.progressed_at;
    if (idle <= *limit) return {};
    const double seconds = Seconds(run.measured_at - run.seen_at);
    const double usual = run.shares == 0 ? -1 : run.share_sum / run.shares;
    const double least = kIdleShare * (usual < 0 ? 1 : usual);
    const double share =
        seconds <= 0 ? least : std::max(0.0, run.cpu_seconds - run.cpu_at_progress) / seconds;
    if (!run.gpu_busy && share >= least) continue;
    found.push_back({task, run.step, idle, *limit, share, usual, run.gpu_busy});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Standstill& a, const Standstill& b) { return a.idle > b.idle; });
  return found;
}

}  // namespace tony::core
