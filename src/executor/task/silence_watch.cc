// The use of the processor is known at measurements only, so a silence counts from the first one
// after the last output.
#include "executor/task/silence_watch.h"

#include <algorithm>

namespace tony::executor {

void SilenceWatch::Reset(TimePoint now) {
  since_ = now;
  cpu_seconds_ = 0;
  silence_.reset();
}

std::optional<SilenceWatch::Silence> SilenceWatch::OnUsage(TimePoint last_output,
                                                           double cpu_seconds, TimePoint now) {
  if (last_output >= since_) {
    since_ = now;
    cpu_seconds_ = cpu_seconds;
    if (!silence_) return std::nullopt;
    silence_.reset();
    return Silence{};
  }
  if (silence_ || limit_ == Duration::zero() || now - since_ < limit_) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - since_).count();
  silence_ = Silence{(now - since_) / std::chrono::milliseconds(1),
                     std::max(0.0, cpu_seconds - cpu_seconds_) / seconds};
  return silence_;
}

}  // namespace tony::executor
