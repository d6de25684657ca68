// Codes that are exchanged for cookies, and the visits that the cookies stand for.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/clock.h"

namespace tony::web {

/// Both kinds of secrets are kept in short queues in memory, in which the oldest give way to new
/// ones. Not thread safe: owned by the event loop.
class Visits {
 public:
  struct Lives {
    Duration code = std::chrono::minutes(2);
    Duration visit = std::chrono::hours(12);
  };

  /// A visit that another process is to know. Plain data.
  struct Kept {
    std::string secret;
    int64_t end = 0;  ///< Unix time in milliseconds
  };

  /// `clock` must outlive this.
  Visits(const Clock& clock, Lives lives) : clock_(clock), lives_(lives) {}

  /// Makes a code, which is valid once.
  std::string MakeCode();
  /// Whether `code` is valid now; it stays so.
  bool KnowsCode(const std::string& code);
  /// Uses up a code that KnowsCode() knows, and returns the secret of a new visit, for a cookie.
  std::string Begin(const std::string& code);
  /// Whether `visit` is what Begin() returned, and still valid.
  bool Knows(const std::string& visit);

  /// The visits that are valid now, oldest first.
  std::vector<Kept> Keep();
  /// Adds visits of an earlier process. Those that have expired or are too many are left out, and
  /// none lives longer than a new one.
  void Restore(const std::vector<Kept>& kept);

 private:
  /// A code or a visit, and the time at which it expires.
  struct Secret {
    std::string text;
    TimePoint end;
  };

  void ForgetOld();
  static std::deque<Secret>::iterator Find(std::deque<Secret>& secrets, const std::string& text);

  const Clock& clock_;
  const Lives lives_;
  std::deque<Secret> codes_;   ///< oldest first
  std::deque<Secret> visits_;  ///< oldest first
};

/// Returns 128 bits from the kernel's random number generator, as hexadecimal digits.
std::string RandomToken();

/// Whether the texts are equal, in a time that depends on their lengths only.
bool EqualInConstantTime(const std::string& left, const std::string& right);

}  // namespace tony::web
