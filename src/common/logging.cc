// Logging on spdlog. Only this file includes its headers, because they are slow to compile.
#include "common/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#define FMT_HEADER_ONLY
#define SPDLOG_FMT_EXTERNAL
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  return status;
}

void Log(LogLevel level, const std::string& message) {
  // A message quotes peers and programs. SafeText keeps them from beginning a log line of their own
  // and from steering the terminal on which the log is read.
  spdlog::log(ToSpdlog(level), "{}", SafeText(message));
}

}  // namespace tony
