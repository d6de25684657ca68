// The daemons' own log: time, level, message, keys; one sink per process.
//
//   2026-01-31T12:34:56.789+01:00 info executor attached task=worker:0 epoch=1 peer=10.0.0.7:41234
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"

namespace tony {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// "debug", "info", "warning" or "error".
std::string LogLevelName(LogLevel level);

/// The level called `name`. InvalidArgument – there is no such level; the message lists those there
/// are.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

/// The level of a line that Log() has written, which may end anywhere. Nothing for all other lines.
std::optional<LogLevel> LevelOfLogLine(absl::string_view line);

/// Sends log lines to `path` (created with mode 0600, appended to), or to standard error if `path`
/// is empty. Unavailable – the file cannot be opened; lines then go to standard error.
absl::Status SetUpLogging(const std::string& path, LogLevel level);

/// From now on lines of `level` and above are written. Thread safe.
void SetLogLevel(LogLevel level);

/// The lowest level whose lines are written. Thread safe.
LogLevel CurrentLogLevel();

/// One key of a log line. The tree's names are job, task, epoch, attempt, container and peer for
/// those, and a noun for anything else. Plain data.
struct LogKey {
  LogKey(absl::string_view key, const absl::AlphaNum& text) : name(key), value(text.Piece()) {}
  absl::string_view name;  ///< a literal: letters and `_`
  std::string value;       ///< empty: not known, so the key is left out
};
using LogKeys = std::initializer_list<LogKey>;

/// Writes one line: the SafeText of `message`, then each key as ` name=value`. A value is SafeText
/// as well; one with a blank, a quotation mark or `=` stands in quotation marks, with `\` in front
/// of each `\` and `"` of it. Thread safe. Never pass secrets, the users' environment or arguments.
void Log(LogLevel level, const std::string& message, LogKeys keys = {});
inline void LogDebug(const std::string& message, LogKeys keys = {}) {
  Log(LogLevel::kDebug, message, keys);
}
inline void LogInfo(const std::string& message, LogKeys keys = {}) {
  Log(LogLevel::kInfo, message, keys);
}
inline void LogWarning(const std::string& message, LogKeys keys = {}) {
  Log(LogLevel::kWarning, message, keys);
}
inline void LogError(const std::string& message, LogKeys keys = {}) {
  Log(LogLevel::kError, message, keys);
}

/// One place whose lines a stranger or a loop could cause without bound. Of the lines that come
/// within kPause of a written one none is written; the next one after that carries their number as
/// `left_out=`. Lines below the current level count for nothing. Thread safe.
class LogLimit {
 public:
  static constexpr std::chrono::seconds kPause{1};

  LogLimit() : LogLimit(kSystemClock) {}
  /// `clock` must outlive this.
  explicit LogLimit(const Clock& clock) : clock_(clock) {}

  /// As tony::Log().
  void Log(LogLevel level, const std::string& message, LogKeys keys = {});

 private:
  static const SystemClock kSystemClock;

  const Clock& clock_;
  std::mutex mutex_;  // guards the rest
  std::optional<TimePoint> written_at_;
  int64_t left_out_ = 0;
};

}  // namespace tony
