// Limits how often passwords and tokens can be tried.
#pragma once

#include <map>
#include <string>

#include "common/clock.h"

namespace tony::web {

/// Counts attempts from an address and for a name, each in windows of kWindow:
///
///   1. An attempt is counted before its password or token is checked, so that many at once are no
///      more.
///   2. Over either limit it is refused until the window of that count is over.
///   3. A right one takes its attempt back, and forgets those for its name.
///
/// Addresses of IPv6 count by their first 64 bits, which one customer has, and those of this
/// machine (127.0.0.0/8) as one. Not thread safe.
class AttemptLimit {
 public:
  static constexpr std::chrono::minutes kWindow{10};
  static constexpr int kMostOfAddress = 30;
  static constexpr int kMostOfName = 10;
  /// Addresses, and names, that are remembered. One more, and the one with the fewest attempts is
  /// forgotten.
  static constexpr size_t kMostRemembered = 4096;

  /// `clock` must outlive this.
  explicit AttemptLimit(const Clock& clock) : clock_(clock) {}

  /// Counts an attempt. Returns how long to wait, if it is refused; 0: it may go on.
  std::chrono::seconds Try(const std::string& address, const std::string& name);
  /// The password was right.
  void Succeeded(const std::string& address, const std::string& name);

 private:
  struct Count {
    TimePoint end;
    int attempts = 0;
  };
  using Counts = std::map<std::string, Count>;

  Count& Of(Counts& counts, const std::string& key);
  std::chrono::seconds LeftUntil(TimePoint end) const;
  static std::string Network(const std::string& address);

  const Clock& clock_;
  Counts addresses_;
  Counts names_;
};

}  // namespace tony::web
