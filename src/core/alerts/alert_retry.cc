// A pause is computed in milliseconds, the unit in which it is waited for.
#include "core/alerts/alert_retry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

constexpr int kRequestTimeout = 408;
constexpr int kTooManyRequests = 429;
constexpr int kServerErrors = 500;

bool MayHelp(int code) {
  return code == 0 || code == kRequestTimeout || code == kTooManyRequests || code >= kServerErrors;
}

}  // namespace

std::string AlertAnswer::Sentence() const {
  if (code == 0) return trouble;
  if (code >= 300 && code < 400) {
    return absl::StrCat("it answers ", code, ", and redirections are not followed");
  }
  return absl::StrCat("it answers ", code);
}

std::optional<Duration> NextAlertTry(int tries, const AlertAnswer& answer, double random) {
  if (answer.delivered() || answer.hopeless || tries >= kMostAlertTries || !MayHelp(answer.code))
    return std::nullopt;
  const double usual = 1000.0 * static_cast<double>(1 << std::clamp(tries - 1, 0, 16));
  const milliseconds pause(
      static_cast<int64_t>(usual * (0.75 + 0.5 * std::clamp(random, 0.0, 1.0))));
  return std::min<Duration>(std::max<Duration>(pause, answer.retry_after), kLongestAlertPause);
}

}  // namespace tony::core
