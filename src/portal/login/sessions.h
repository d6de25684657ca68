// The visits of users who have logged in.
#pragma once

#include <list>
#include <string>

#include "common/clock.h"

namespace tony::portal {

/// Kept in memory only, so they end with the portal. Not thread safe.
class Sessions {
 public:
  /// A session ends after this time, used or not.
  static constexpr std::chrono::hours kLife{12};
  /// One more of a user, and that user's oldest ends.
  static constexpr size_t kMostOfUser = 16;
  /// One more, and the oldest ends.
  static constexpr size_t kMost = 1024;

  /// Plain data.
  struct Session {
    std::string token;
    std::string user;
    std::string hash;  ///< of the password that it was begun with
    TimePoint end;
  };

  /// `clock` must outlive this.
  explicit Sessions(const Clock& clock) : clock_(clock) {}

  /// Returns the token of a new session, for a cookie.
  std::string Begin(const std::string& user, const std::string& hash);
  /// The session of `token`; null: there is none (any more). Good until the next call.
  const Session* Find(const std::string& token);
  void End(const std::string& token);

 private:
  void ForgetOld();

  const Clock& clock_;
  std::list<Session> sessions_;  ///< oldest first
};

}  // namespace tony::portal
