// The text has the two largest units, and tenths only below ten seconds.
#include "core/record/duration_text.h"

#include "absl/strings/str_cat.h"

namespace tony::core {

std::string FormatDuration(int64_t millis) {
  if (millis < 0) return "-";
  // What ran has taken some time, so it is never shown as nothing.
  if (millis < 100) return "<0.1s";
  const int64_t seconds = millis / 1000;
  const auto two = [](int64_t number) { return absl::StrCat(number < 10 ? "0" : "", number); };
  if (seconds < 10) return absl::StrCat(seconds, ".", millis / 100 % 10, "s");
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, "m ", two(seconds % 60), "s");
  if (seconds < 24 * 3600) return absl::StrCat(seconds / 3600, "h ", two(seconds / 60 % 60), "m");
  return absl::StrCat(seconds / (24 * 3600), "d ", two(seconds / 3600 % 24), "h");
}

std::string SecondsText(Duration duration) {
  using std::chrono::milliseconds;
  return absl::StrCat(std::chrono::duration_cast<milliseconds>(duration).count() / 1000.0, " s");
}

}  // namespace tony::core
