// Composes the names and parses them. A name counts only if composing its parsed parts gives the
// same name again.
#include "logs/container_logs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "logs/log_segments.h"

namespace tony::logs {
namespace {

using Stream = ContainerLogFile::Stream;

constexpr char kAttempt[] = "attempt-";
constexpr char kStacks[] = ".stacks.txt";
constexpr char kTimes[] = ".times";
constexpr char kLog[] = ".log";
/// More segments of a log than can exist: each has its file.
constexpr int kMostSegments = 100'000;

std::string LogName(const ContainerLogFile& file) {
  switch (file.stream) {
    case Stream::kStdout:
      return absl::StrCat(kAttempt, file.attempt, ".stdout.log");
    case Stream::kStderr:
      return absl::StrCat(kAttempt, file.attempt, ".stderr.log");
    case Stream::kExecutor:
      return "executor.log";
    case Stream::kMaster:
      return kMasterLogName;
    case Stream::kStacks:
      return absl::StrCat(kAttempt, file.attempt, kStacks);
  }
  return "";
}

/// The name of the log segment ("stdout.log.00002") for the name of its times
/// ("stdout.times.00002"); nothing for other names.
std::optional<std::string> LogOfTimes(const std::string& name) {
  const size_t found = name.rfind(kTimes);
  if (found == std::string::npos) return std::nullopt;
  return absl::StrCat(name.substr(0, found), kLog, name.substr(found + sizeof kTimes - 1));
}

/// The number between "attempt-" and the next dot; 0: there is none.
int AttemptIn(const std::string& name) {
  int attempt = 0;
  if (!absl::StartsWith(name, kAttempt)) return 0;
  const std::string rest = name.substr(sizeof kAttempt - 1);
  return absl::SimpleAtoi(rest.substr(0, rest.find('.')), &attempt) ? attempt : 0;
}

/// What the name says, also when ContainerLogName() spells it otherwise.
std::optional<ContainerLogFile> ReadName(const std::string& name) {
  if (absl::EndsWith(name, kStacks)) return ContainerLogFile{Stream::kStacks, AttemptIn(name)};
  const std::optional<std::string> of_times = LogOfTimes(name);
  const std::optional<LogSegmentName> segment = ParseLogSegment(of_times.value_or(name));
  if (!segment) return std::nullopt;
  ContainerLogFile file{Stream::kExecutor, AttemptIn(segment->path), segment->number,
                        of_times.has_value()};
  if (file.attempt != 0) {
    const bool standard_error = absl::EndsWith(segment->path, ".stderr.log");
    file.stream = standard_error ? Stream::kStderr : Stream::kStdout;
  } else if (segment->path == kMasterLogName) {
    file.stream = Stream::kMaster;
  }
  return file;
}

}  // namespace

bool IsContainerLog(const ContainerLogFile& file) {
  if (file.stream == Stream::kStacks) return file.attempt >= 1 && file.segment == 1 && !file.times;
  return file.segment >= 1 && file.segment < kMostSegments &&
         (file.of_program() ? file.attempt >= 1 : file.attempt == 0 && !file.times);
}

std::string ContainerLogName(const ContainerLogFile& file) {
  const std::string name = LogName(file);
  return file.times ? LogTimesPath(name, file.segment) : LogSegmentPath(name, file.segment);
}

std::optional<ContainerLogFile> ParseContainerLog(const std::string& name) {
  const std::optional<ContainerLogFile> file = ReadName(name);
  // Only the canonical spelling counts: "attempt-02.stdout.log" is another file.
  if (!file || !IsContainerLog(*file) || ContainerLogName(*file) != name) return std::nullopt;
  return file;
}

std::vector<ContainerLogFile> FindContainerLogs(const std::string& folder) {
  std::vector<ContainerLogFile> logs;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const auto file = ParseContainerLog(entry->path().filename().string());
    const bool begins = file && file->segment == 1 && !file->times;
    if (begins && file->stream != Stream::kStacks) logs.push_back(*file);
    entry.increment(error);
  }
  std::sort(logs.begin(), logs.end(), [](const auto& left, const auto& right) {
    return std::tie(left.attempt, left.stream) < std::tie(right.attempt, right.stream);
  });
  return logs;
}

}  // namespace tony::logs
