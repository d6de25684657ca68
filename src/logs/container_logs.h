// Names of the log files in a container's own folder, where the backend collects files but no
// sub-folders.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace tony::logs {

/// The ApplicationMaster's log, among the logs of its container.
inline constexpr char kMasterLogName[] = "amstderr.log";

/// Environment variable that names the log folder in use; a container has one log folder on each
/// disk.
inline constexpr char kLogFolderVariable[] = "TONY_LOG_DIR";

/// One file: a segment of a log (log_segments.h), or the file with a segment's times. A plain
/// value; ordered by log, then by segment.
struct ContainerLogFile {
  /// kStacks: the stacks that were kept before the program was ended; a single file, and no log.
  enum class Stream { kStdout, kStderr, kExecutor, kMaster, kStacks };
  Stream stream = Stream::kStdout;
  int attempt = 0;     ///< attempt of the program's streams and stacks, from 1; 0 for the others
  int segment = 1;     ///< segment number, from 1
  bool times = false;  ///< the file holds the segment's times, not its bytes

  /// Whether the file is output of the program, not a log of tony's own.
  bool of_program() const { return stream == Stream::kStdout || stream == Stream::kStderr; }
  auto operator<=>(const ContainerLogFile&) const = default;
};

/// Whether a file with these numbers can exist. Check it for values from other processes.
bool IsContainerLog(const ContainerLogFile& file);

/// The name, such as "attempt-2.stdout.log.00003", "attempt-2.stdout.times", "executor.log",
/// "attempt-2.stacks.txt" or "amstderr.log".
std::string ContainerLogName(const ContainerLogFile& file);

/// The inverse of ContainerLogName(); nothing for other names. No valid name has a '/'.
std::optional<ContainerLogFile> ParseContainerLog(const std::string& name);

/// The logs in a container's folder, by their first segments, in the order of attempts; those that
/// belong to no attempt come first.
std::vector<ContainerLogFile> FindContainerLogs(const std::string& folder);

}  // namespace tony::logs
