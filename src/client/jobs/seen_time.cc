// The rules are a pure function of two clock readings and the notes, so they are tested without a
// clock; the file only keeps the notes between submissions.
#include "client/jobs/seen_time.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/machine/machine.h"

namespace tony::client {
namespace {

constexpr int64_t kMillisPerDay = 24 * 3600 * int64_t{1000};

bool SameBoot(const ClockReading& one, const ClockReading& other) {
  return !one.boot_id.empty() && one.boot_id == other.boot_id;
}

/// The shortest time that may have passed since `then`.
int64_t Elapsed(const ClockReading& then, const ClockReading& now) {
  return SameBoot(then, now) ? now.uptime_millis - then.uptime_millis
                             : now.wall_millis - then.wall_millis;
}

/// The time at `now` if `then` was right. After another boot it is the time of `then`, because the
/// time in between is unknown.
int64_t TimeSince(const ClockReading& then, const ClockReading& now) {
  return then.wall_millis +
         (SameBoot(then, now) ? now.uptime_millis - then.uptime_millis : int64_t{0});
}

nlohmann::json ToJson(const std::optional<ClockReading>& reading) {
  if (!reading) return nullptr;
  return {{"wall_millis", reading->wall_millis},
          {"boot_id", reading->boot_id},
          {"uptime_millis", reading->uptime_millis}};
}

std::optional<ClockReading> ReadingFrom(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return ClockReading{found->at("wall_millis").get<int64_t>(),
                      found->at("boot_id").get<std::string>(),
                      found->at("uptime_millis").get<int64_t>()};
}

SeenTime Parse(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {ReadingFrom(json, "known"), ReadingFrom(json, "noted")};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace

ClockReading ReadClocks(int64_t wall_millis) {
  return {wall_millis, os::BootId(), os::UptimeMillis()};
}

int64_t SeeTime(const ClockReading& now, SeenTime* seen) {
  int64_t time = seen->known ? TimeSince(*seen->known, now) : 0;
  const bool refuted = seen->noted && now.wall_millis < seen->noted->wall_millis;
  const bool confirmed = seen->noted && !refuted && Elapsed(*seen->noted, now) >= kMillisPerDay;
  if (confirmed) time = std::max(time, TimeSince(*seen->noted, now));
  // Rule 4: a clock set back bounds the known time, too.
  time = std::min(time, now.wall_millis);
  if (!seen->noted || refuted || confirmed) seen->noted = now;
  if (seen->known || confirmed) {
    seen->known = now;
    seen->known->wall_millis = time;
  }
  return time;
}

absl::StatusOr<int64_t> SeeTime(const ClockReading& now, const std::string& path) {
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  SeenTime seen = text.ok() ? Parse(*text) : SeenTime();
  const int64_t time = SeeTime(now, &seen);
  const nlohmann::json json = {{"known", ToJson(seen.known)}, {"noted", ToJson(seen.noted)}};
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(path, json.dump() + "\n"));
  return time;
}

}  // namespace tony::client
