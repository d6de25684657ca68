// The gaps are kept as they come and ordered only when somebody asks: reports come many times a
// second, questions once in seconds.
#include "core/tasks/progress_tracker.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

constexpr absl::string_view kStep = "step";
constexpr absl::string_view kPhase = "phase";
constexpr absl::string_view kCheckpoint = "checkpoint";
constexpr absl::string_view kCheckpointSeconds = "checkpoint_seconds";
/// Above it a double no longer holds every integer.
constexpr double kMostSteps = 9007199254740992;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

int64_t MillisBetween(TimePoint then, TimePoint now) {
  return std::max<int64_t>(0, (now - then) / std::chrono::milliseconds(1));
}

/// The smallest element that is at least as large as the share `quantile` of all. -1: there is
/// none.
double Quantile(std::vector<double> numbers, double quantile) {
  if (numbers.empty()) return -1;
  const double rank = std::ceil(quantile * static_cast<double>(numbers.size()));
  const auto nth = numbers.begin() + static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
  std::nth_element(numbers.begin(), nth, numbers.end());
  return *nth;
}

}  // namespace

std::string ProgressTracker::Take(const ReportLine& line, TimePoint now) {
  std::string unusable;
  for (const ReportPair& pair : line.pairs) {
    bool taken = true;
    if (pair.name == kStep) {
      taken = TakeStep(pair.value, now);
    } else if (pair.name == kPhase) {
      TakePhase(pair.value, now);
    } else if (pair.name != kCheckpoint && pair.name != kCheckpointSeconds) {
      TakeValue(pair);
    }
    used_ = used_ || taken;
    if (!taken && unusable.empty()) unusable = absl::StrCat(pair.name, "=", pair.value);
  }
  // After the phase of the same line, whose end tells how long the checkpoint took.
  for (const ReportPair& pair : line.pairs) {
    if (pair.name == kCheckpoint) TakeCheckpoint(line, pair.value, now);
  }
  return unusable;
}

bool ProgressTracker::TakeStep(absl::string_view text, TimePoint now) {
  const std::optional<double> number = ReportedNumber(text);
  if (!number || !(*number >= 0 && *number <= kMostSteps) || std::floor(*number) != *number) {
    return false;
  }
  const int64_t step = static_cast<int64_t>(*number);
  if (step != last_named_) named_at_ = now;
  last_named_ = step;
  if (progress_.step < 0) {
    first_step_at_ = now;
  } else if (step > progress_.step) {
    AddGap(step - progress_.step, now);
  } else {
    if (step < progress_.step) ++lower_;
    if (step == progress_.step || lower_ < kLowerSteps) return true;
  }
  lower_ = 0;
  progress_.step = step;
  gap_began_ = now;
  in_phases_ = Duration::zero();
  if (!progress_.phase.empty()) in_phases_ = phase_began_ - now;  // what was counted before
  return true;
}

void ProgressTracker::AddGap(int64_t steps, TimePoint now) {
  if (now == gap_began_ && !gaps_.empty()) {
    gaps_.back().steps += steps;
    return;
  }
  if (now == gap_began_) return;  // several steps in the first report
  const double seconds = Seconds(now - gap_began_ - InPhases(now));
  if (seconds <= 0) return;  // the phase counts steps of its own
  gaps_.push_back({seconds, steps});
  if (gaps_.size() > kMostGaps) gaps_.pop_front();
}

Duration ProgressTracker::InPhases(TimePoint now) const {
  return progress_.phase.empty() ? in_phases_ : in_phases_ + (now - phase_began_);
}

// A phase's length is counted when it ends, in whatever way: `phase=`, or the next phase's name.
void ProgressTracker::TakePhase(absl::string_view text, TimePoint now) {
  if (text == progress_.phase) return;
  if (!progress_.phase.empty()) {
    newest_phase_ = now - phase_began_;
    in_phases_ += newest_phase_;
    const auto known = longest_phases_.find(progress_.phase);
    if (known != longest_phases_.end()) {
      known->second = std::max(known->second, Seconds(newest_phase_));
    } else if (longest_phases_.size() < kMostPhases) {
      longest_phases_.emplace(progress_.phase, Seconds(newest_phase_));
    }
  }
  progress_.phase = std::string(text);
  phase_began_ = now;
}

void ProgressTracker::TakeCheckpoint(const ReportLine& line, absl::string_view path,
                                     TimePoint now) {
  ProgressCheckpoint checkpoint;
  checkpoint.path = std::string(path);
  checkpoint_at_ = now;
  checkpoint.count = progress_.checkpoint ? progress_.checkpoint->count + 1 : 1;
  bool ends_phase = false;
  for (const ReportPair& pair : line.pairs) {
    const std::optional<double> seconds = ReportedNumber(pair.value);
    if (pair.name == kCheckpointSeconds && seconds && *seconds >= 0 && std::isfinite(*seconds)) {
      checkpoint.seconds = *seconds;
    }
    ends_phase = ends_phase || (pair.name == kPhase && pair.value.empty());
  }
  if (checkpoint.seconds < 0 && progress_.phase == kCheckpoint) {
    checkpoint.seconds = Seconds(now - phase_began_);
  } else if (checkpoint.seconds < 0 && ends_phase && newest_phase_ > Duration::zero()) {
    checkpoint.seconds = Seconds(newest_phase_);
  }
  progress_.checkpoint = std::move(checkpoint);
}

// A loss that has become NaN takes the earlier one away: nobody shall read a number that no longer
// holds. Words ("note=well") are no progress, but count among the reported values.
void ProgressTracker::TakeValue(const ReportPair& pair) {
  const std::optional<double> number = ReportedNumber(pair.value);
  const auto known = progress_.values.find(std::string(pair.name));
  if (number && std::isfinite(*number)) {
    if (known != progress_.values.end()) {
      known->second = *number;
    } else if (progress_.values.size() < kMostValues) {
      progress_.values.emplace(pair.name, *number);
    }
  } else if (known != progress_.values.end()) {
    progress_.values.erase(known);
  }
}

std::optional<Progress> ProgressTracker::At(TimePoint now) const {
  if (!used_) return std::nullopt;
  Progress progress = progress_;
  std::vector<double> durations, gaps;
  for (const Gap& gap : gaps_) {
    gaps.push_back(gap.seconds);
    durations.push_back(gap.seconds / static_cast<double>(gap.steps));
  }
  progress.step_seconds = Quantile(std::move(durations), 0.5);
  progress.long_gap_seconds = Quantile(std::move(gaps), 0.99);
  double seconds = 0;
  int64_t steps = 0;
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend() && seconds < kRateSeconds; ++gap) {
    seconds += gap->seconds;
    steps += gap->steps;
  }
  if (seconds > 0) progress.steps_per_second = static_cast<double>(steps) / seconds;
  if (progress.step >= 0) {
    progress.idle_seconds = std::max(0.0, Seconds(now - named_at_));
    progress.first_step_ago_millis = MillisBetween(first_step_at_, now);
  }
  if (progress.checkpoint) progress.checkpoint->ago_millis = MillisBetween(checkpoint_at_, now);
  if (progress.phase.empty()) return progress;
  progress.phase_seconds = std::max(0.0, Seconds(now - phase_began_));
  const auto longest = longest_phases_.find(progress.phase);
  if (longest != longest_phases_.end()) progress.longest_phase_seconds = longest->second;
  return progress;
}

}  // namespace tony::core
