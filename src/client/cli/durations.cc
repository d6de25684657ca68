#include "client/cli/durations.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jobfile/values/values.h"

namespace tony::client {

absl::StatusOr<Duration> ParseDuration(const std::string& name, const std::string& text,
                                       const std::string& example) {
  const std::optional<int64_t> seconds = jobfile::ParseWholeNumber(text);
  // Larger numbers could not be counted in nanoseconds.
  constexpr int64_t kMostSeconds = 100LL * 365 * 24 * 3600;
  if (seconds && *seconds >= 0 && *seconds <= kMostSeconds) return std::chrono::seconds(*seconds);
  const std::optional<int64_t> millis = jobfile::ParseMillisecondsWithUnit(text);
  if (millis && *millis >= 0 && *millis / 1000 <= kMostSeconds) {
    return std::chrono::milliseconds(*millis);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " '", text, "' is no duration; write --", name, "=", example));
}

}  // namespace tony::client
