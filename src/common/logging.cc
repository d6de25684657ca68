// Logging on spdlog. Only this file includes its headers, because they are slow to compile.
#include "common/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#define FMT_HEADER_ONLY
#define SPDLOG_FMT_EXTERNAL
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/safe_text.h"

namespace tony {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

constexpr std::array<LogLevel, 4> kLevels = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                                             LogLevel::kError};

/// The time, as long in every line as in this one.
constexpr char kTimePattern[] = "%Y-%m-%dT%H:%M:%S.%e%z";
constexpr absl::string_view kTimeExample = "2026-01-31T12:34:56.789+01:00";

/// Whether `text` has a digit wherever `example` has one, and the same character elsewhere. The
/// sign of the time zone may be either.
bool LooksLike(absl::string_view text, absl::string_view example) {
  if (text.size() != example.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
    const bool same = text[i] == example[i] || (text[i] == '-' && example[i] == '+');
    if (absl::ascii_isdigit(static_cast<unsigned char>(example[i])) ? !digit : !same) return false;
  }
  return true;
}

bool IsWritten(LogLevel level) { return spdlog::default_logger_raw()->should_log(ToSpdlog(level)); }

/// The value of a key, in quotation marks if its end could be mistaken otherwise.
std::string KeyValue(const std::string& value) {
  const std::string safe = SafeText(value);
  if (safe.find_first_of(" \"=") == std::string::npos) return safe;
  return absl::StrCat("\"", absl::StrReplaceAll(safe, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

/// `message` and `keys` as they stand in the log.
std::string Render(const std::string& message, LogKeys keys) {
  // A message quotes peers and programs. SafeText keeps them from beginning a log line of their own
  // and from steering the terminal on which the log is read.
  std::string line = SafeText(message);
  for (const LogKey& key : keys) {
    if (!key.value.empty()) absl::StrAppend(&line, " ", key.name, "=", KeyValue(key.value));
  }
  return line;
}

absl::StatusOr<std::shared_ptr<spdlog::sinks::sink>> FileSink(const std::string& path) {
  // The file is created here first, so that it never exists with wider permissions. spdlog would
  // also create missing folders.
  const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) {
    (void)fchmod(made, 0600);  // the umask may have removed permissions
    close(made);
  } else if (errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat("cannot log to ", path, ": ", std::strerror(errno)));
  }
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  } catch (const spdlog::spdlog_ex& error) {
    return absl::UnavailableError(absl::StrCat("cannot log to ", path, ": ", error.what()));
  }
}

}  // namespace

absl::Status SetUpLogging(const std::string& path, LogLevel level) {
  absl::Status status;
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (!path.empty()) {
    absl::StatusOr<std::shared_ptr<spdlog::sinks::sink>> file = FileSink(path);
    status = file.status();
    if (file.ok()) sink = *std::move(file);
  }
  if (!sink) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("tony", sink);
  logger->set_pattern(absl::StrCat(kTimePattern, " %l %v"));
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  return status;
}

std::string LogLevelName(LogLevel level) {
  const spdlog::string_view_t name = spdlog::level::to_string_view(ToSpdlog(level));
  return std::string(name.data(), name.size());
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  std::vector<std::string> names;
  for (const LogLevel level : kLevels) {
    names.push_back(LogLevelName(level));
    if (name == names.back()) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no log level; there are ", absl::StrJoin(names, ", ")));
}

std::optional<LogLevel> LevelOfLogLine(absl::string_view line) {
  if (!LooksLike(line.substr(0, kTimeExample.size()), kTimeExample)) return std::nullopt;
  line.remove_prefix(kTimeExample.size());
  for (const LogLevel level : kLevels) {
    if (absl::StartsWith(line, absl::StrCat(" ", LogLevelName(level), " "))) return level;
  }
  return std::nullopt;
}

void SetLogLevel(LogLevel level) { spdlog::default_logger_raw()->set_level(ToSpdlog(level)); }

LogLevel CurrentLogLevel() {
  for (const LogLevel level : kLevels) {
    if (IsWritten(level)) return level;
  }
  return LogLevel::kError;
}

void Log(LogLevel level, const std::string& message, LogKeys keys) {
  if (IsWritten(level)) spdlog::log(ToSpdlog(level), "{}", Render(message, keys));
}

const SystemClock LogLimit::kSystemClock;

void LogLimit::Log(LogLevel level, const std::string& message, LogKeys keys) {
  if (!IsWritten(level)) return;
  int64_t left_out = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const TimePoint now = clock_.Now();
    if (written_at_ && now - *written_at_ < kPause) {
      ++left_out_;
      return;
    }
    written_at_ = now;
    left_out = std::exchange(left_out_, 0);
  }
  const LogKey count("left_out", left_out);
  const std::string line = Render(message, keys);
  spdlog::log(ToSpdlog(level), "{}", left_out > 0 ? line + Render("", {count}) : line);
}

}  // namespace tony
