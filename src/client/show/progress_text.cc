#include "client/show/progress_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tony::client {

std::string RateText(double per_second) {
  if (per_second < 0) return "";
  if (per_second >= 100) return absl::StrFormat("%.0f/s", per_second);
  if (per_second >= 0.1 || per_second == 0) return absl::StrFormat("%.1f/s", per_second);
  if (per_second * 60 >= 0.1) return absl::StrFormat("%.1f/min", per_second * 60);
  return absl::StrFormat("%.1f/h", per_second * 3600);
}

std::string StepText(const core::Progress& progress) {
  if (progress.step < 0) return "";
  const std::string rate = RateText(progress.steps_per_second);
  return absl::StrCat(progress.step, rate.empty() ? "" : absl::StrCat(" (", rate, ")"));
}

std::string ValueText(double value) { return absl::StrFormat("%.4g", value); }

}  // namespace tony::client
