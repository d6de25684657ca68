// What time it certainly is: a wall clock that was set wrong once is not believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tony::client {

/// What the machine's clocks say at one moment. A plain value.
struct ClockReading {
  int64_t wall_millis = 0;    ///< since 1970; may be set to anything at any time
  std::string boot_id;        ///< of the machine's current boot
  int64_t uptime_millis = 0;  ///< since then; nobody sets it

  bool operator==(const ClockReading&) const = default;
};

/// The clocks of this machine, `wall_millis` being the caller's.
ClockReading ReadClocks(int64_t wall_millis);

/// What submissions have seen of the time. A plain value.
///
/// Nothing on a machine tells a wall clock that was set ahead by a month from a machine that was
/// off for a month. So a time counts as having come only when two submissions agree on it:
///
/// 1. A submission notes what time it is.
/// 2. One that comes at least a day later, by the uptime or, after another boot, by the wall clock,
///    and finds the wall clock not before what was noted, confirms the note. From then on the time
///    is the note's, and what the uptime has added to it since.
/// 3. A wall clock before the note refutes it: the time is noted anew.
/// 4. No time is later than what the wall clock says now.
///
/// Thus a clock that is wrong at one submission, or at all of one day, moves nothing: the next one
/// refutes it. The price: of what is counted in days a day more passes, and on a machine that is
/// booted between all submissions the time between two of them. The newest file in the jobs' folder
/// was no better witness: it has its time from the same clock.
struct SeenTime {
  std::optional<ClockReading> known;  ///< the latest time that has certainly come
  std::optional<ClockReading> noted;  ///< still to be confirmed

  bool operator==(const SeenTime&) const = default;
};

/// Adds a submission at `now`. Returns the time that has certainly come, in milliseconds since
/// 1970; 0 while none is known.
int64_t SeeTime(const ClockReading& now, SeenTime* seen);

/// The same for what the file `path` keeps; a file that is missing, or cannot be understood, has
/// seen nothing. The codes of os::WriteFileAtomically(): nobody would remember.
absl::StatusOr<int64_t> SeeTime(const ClockReading& now, const std::string& path);

}  // namespace tony::client
