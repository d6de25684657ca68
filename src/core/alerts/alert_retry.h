// When an alert that was not delivered is sent again.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"

namespace tony::core {

/// The result of one try to deliver an alert. A plain value.
struct AlertAnswer {
  int code = 0;             ///< HTTP's; 0: there was no answer
  Duration retry_after{0};  ///< what the receiver asks for; zero: nothing
  std::string trouble;      ///< why there was no answer, without the address's path
  bool hopeless = false;    ///< `trouble` will be the same at the next try

  bool delivered() const { return code >= 200 && code < 300; }
  /// "it answers 404", "Timeout was reached".
  std::string Sentence() const;
};

/// Tries for one alert, the first one included: the last of them comes half a minute after the
/// first, or later if the receiver asks for that.
inline constexpr int kMostAlertTries = 6;
inline constexpr std::chrono::seconds kLongestAlertPause{60};

/// The pause before the next try; nothing: it is given up.
/// 1. What a receiver refuses for good is not sent again: every answer but 408, 429 and 5xx, also a
///    redirection, which is not followed; nor to a receiver whose certificate is not trusted.
/// 2. The pauses are 1, 2, 4, 8 and 16 s, each changed by up to a quarter, so that the alerts of
///    many jobs do not come together again.
/// 3. A longer Retry-After is obeyed, up to kLongestAlertPause.
/// `tries`: those made so far, 1 or more. `random`: a number from 0 to 1.
std::optional<Duration> NextAlertTry(int tries, const AlertAnswer& answer, double random);

}  // namespace tony::core
