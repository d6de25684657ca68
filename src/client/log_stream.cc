// Following of log files.
#include "client/log_stream.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "client/job_watch.h"
#include "common/status_macros.h"

namespace tony::client {

size_t LogStream::PrintAll() {
  const std::vector<LogFile> files = FindLogs(folder_, options_.selection);
  for (const LogFile& log : files) {
    Open* open = Find(log.path);
    open->tail.Finish([&](const std::string& line) { use_(open->log, line); });
  }
  return files.size();
}

absl::Status LogStream::Follow() {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<JobWatch> watch, JobWatch::Start(folder_));
  for (const LogFile& log : FindLogs(folder_, options_.selection)) Read(*Find(log.path));
  started_ = true;
  // The folder may have grown since: watch first, then read again what is there.
  TONY_RETURN_IF_ERROR(Visit(*watch, folder_.logs()));
  while (!watch->over()) {
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          watch->Wait(std::chrono::milliseconds(-1)));
    for (const std::string& path : paths) {
      if (path == folder_.root()) TONY_RETURN_IF_ERROR(Visit(*watch, folder_.logs()));
      if (absl::StartsWith(path, folder_.logs())) TONY_RETURN_IF_ERROR(Visit(*watch, path));
    }
  }
  PrintAll();
  return absl::OkStatus();
}

absl::Status LogStream::Visit(JobWatch& watch, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    if (Open* open = Find(path)) Read(*open);
    return absl::OkStatus();
  }
  const absl::Status watched = watch.Watch(path);
  if (absl::IsNotFound(watched)) return absl::OkStatus();  // removed again
  TONY_RETURN_IF_ERROR(watched);
  std::vector<std::string> entries;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    entries.push_back(entry->path().string());
    entry.increment(error);
  }
  std::sort(entries.begin(), entries.end());
  for (const std::string& name : entries) TONY_RETURN_IF_ERROR(Visit(watch, name));
  return absl::OkStatus();
}

LogStream::Open* LogStream::Find(const std::string& path) {
  auto found = logs_.find(path);
  if (found != logs_.end()) return &found->second;
  const std::optional<LogFile> log = RecognizeLog(folder_, options_.selection, path);
  if (!log) return nullptr;
  Open& open = logs_.emplace(path, Open{*log, LineTail(path)}).first->second;
  if (options_.tail >= 0 && !started_) open.tail.SkipToLast(options_.tail);
  return &open;
}

void LogStream::Read(Open& open) {
  open.tail.Read([&](const std::string& line) { use_(open.log, line); });
}

}  // namespace tony::client
