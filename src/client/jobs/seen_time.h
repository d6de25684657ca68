// Tells what time it certainly is: a wall clock that was set wrong once is not believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tony::client {

/// Readings of the machine's clocks at one moment. A plain value.
struct ClockReading {
  int64_t wall_millis = 0;    ///< since 1970; may be set to anything at any time
  std::string boot_id;        ///< id of the machine's current boot
  int64_t uptime_millis = 0;  ///< since that boot; cannot be set

  bool operator==(const ClockReading&) const = default;
};

/// Reads the clocks of this machine; `wall_millis` comes from the caller.
ClockReading ReadClocks(int64_t wall_millis);

/// The times that submissions have seen. A plain value.
///
/// Nothing on a machine tells a wall clock that was set ahead by a month from a machine that was
/// off for a month. So a time counts as having come only when two submissions agree on it:
///
/// 1. A submission notes what time it is.
/// 2. A later submission confirms the note when it comes at least a day later, by the uptime or,
///    after another boot, by the wall clock, and its wall clock is not before the noted time. From
///    then on the known time is the noted time plus what the uptime has added since.
/// 3. A wall clock before the noted time refutes the note: the time is noted anew.
/// 4. No known time is later than what the wall clock says now.
///
/// So a clock that is wrong at one submission, or at all submissions of one day, moves nothing: the
/// next submission refutes it. The price: a retention counted in days lasts a day longer, and on a
/// machine that is booted between all submissions, longer by the time between two of them. The time
/// of the newest file in the jobs' folder would be no better witness: it comes from the same clock.
struct SeenTime {
  std::optional<ClockReading> known;  ///< the latest time that has certainly come
  std::optional<ClockReading> noted;  ///< the time still to be confirmed

  bool operator==(const SeenTime&) const = default;
};

/// Adds a submission at `now`. Returns the time that has certainly come, in milliseconds since
/// 1970; 0 while none is known.
int64_t SeeTime(const ClockReading& now, SeenTime* seen);

/// Adds a submission at `now` to what the file `path` keeps, and returns what the other SeeTime()
/// returns. A file that is missing or malformed has seen nothing. The codes of
/// os::WriteFileAtomically(): the submission would not be remembered.
absl::StatusOr<int64_t> SeeTime(const ClockReading& now, const std::string& path);

}  // namespace tony::client
