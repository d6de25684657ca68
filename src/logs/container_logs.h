// The names of log files in a container's own folder, where the backend collects files but no
// folders.
#pragma once

#include <compare>
#include <optional>
#include <string>

namespace tony::logs {

/// The ApplicationMaster's log, among the logs of its container.
inline constexpr char kMasterLogName[] = "amstderr.log";

/// The variable that says which of a container's log folders, of which each disk has one, is used.
inline constexpr char kLogFolderVariable[] = "TONY_LOG_DIR";

/// One file: a segment of a log (log_segments.h), or the times of one. A plain value; ordered by
/// log, then segment.
struct ContainerLogFile {
  enum class Stream { kStdout, kStderr, kExecutor, kMaster };
  Stream stream = Stream::kStdout;
  int attempt = 0;     ///< of the program's streams, from 1; 0 of the others
  int segment = 1;     ///< from 1
  bool times = false;  ///< not the segment's bytes, but when they came

  /// Of the program, and not of one of ours.
  bool of_program() const { return stream == Stream::kStdout || stream == Stream::kStderr; }
  auto operator<=>(const ContainerLogFile&) const = default;
};

/// Whether a file of such numbers can be: what others send is to be asked.
bool IsContainerLog(const ContainerLogFile& file);

/// "attempt-2.stdout.log.00003", "attempt-2.stdout.times", "executor.log", "amstderr.log".
std::string ContainerLogName(const ContainerLogFile& file);

/// The inverse; nothing for other names, of which none has a '/'.
std::optional<ContainerLogFile> ParseContainerLog(const std::string& name);

}  // namespace tony::logs
