// The daemons' own log: time, level, message; one sink per process.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tony {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sends log lines to `path` (created with mode 0600, appended to), or to standard error if `path`
/// is empty. Unavailable – the file cannot be opened; lines then go to standard error.
absl::Status SetUpLogging(const std::string& path, LogLevel level);

/// Writes one line with the message's SafeText. Thread safe. Never pass secrets.
void Log(LogLevel level, const std::string& message);
inline void LogDebug(const std::string& message) { Log(LogLevel::kDebug, message); }
inline void LogInfo(const std::string& message) { Log(LogLevel::kInfo, message); }
inline void LogWarning(const std::string& message) { Log(LogLevel::kWarning, message); }
inline void LogError(const std::string& message) { Log(LogLevel::kError, message); }

}  // namespace tony
