// A k-way merge: a priority queue holds the first unprinted line of each log. While following, a
// line is printed only when it is older than kOrderingPatience, because an older line of another
// log may still come.
#include "history/log_stream.h"

#include <algorithm>
#include <filesystem>
#include <queue>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "history/job_watch.h"
#include "os/files/wait_readable.h"

namespace tony::history {
namespace {

bool IsDaemonLog(const LogFile& log) {
  return log.stream == "executor" || log.stream == core::kMasterTaskType;
}

}  // namespace

size_t LogStream::PrintAll() {
  for (const LogFile& log : FindLogs(folder_, options_.selection)) Touch(log.path);
  for (auto& [path, open] : logs_) noted_.insert(&open);
  Merge(-1, !options_.complete_lines);
  return logs_.size();
}

absl::Status LogStream::Follow() {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<JobWatch> watch, JobWatch::Start(folder_));
  for (const LogFile& log : FindLogs(folder_, options_.selection)) Touch(log.path);
  started_ = true;
  // The folder may have grown since FindLogs(). Each folder is first watched and then listed, so no
  // file is missed in between.
  TONY_RETURN_IF_ERROR(Visit(*watch, folder_.logs()));
  while (!watch->over()) {
    // Everything written until `now` is noted before lines up to that time are printed. Without
    // this step, a process that was suspended for longer than kOrderingPatience would print out of
    // order.
    const int64_t now = clock_.UnixMillis();
    TONY_RETURN_IF_ERROR(NoteChanges(*watch, std::chrono::milliseconds(0)));
    if (watch->over()) break;
    MergeInTime(now - kOrderingPatience.count(), false);
    const bool waiting = !noted_.empty();
    TONY_RETURN_IF_ERROR(
        NoteChanges(*watch, waiting ? kOrderingPatience : std::chrono::milliseconds(-1)));
    if (EndsNow()) break;
  }
  // A log that no event has told of may have come as the last thing.
  for (const LogFile& log : FindLogs(folder_, options_.selection)) Touch(log.path);
  for (auto& [path, open] : logs_) noted_.insert(&open);
  MergeInTime(-1, true);
  return absl::OkStatus();
}

bool LogStream::EndsNow() const {
  return options_.end_fd >= 0 && os::WaitReadable(options_.end_fd, Duration::zero());
}

void LogStream::MergeInTime(int64_t horizon, bool to_end) {
  LeaveOut();
  Merge(horizon, to_end);
  if (options_.on_pause) options_.on_pause();
}

// The rest is a small part of `most_unread`, so that a fast program gives few long gaps, not many
// short ones.
void LogStream::LeaveOut() {
  if (options_.most_unread < 0) return;
  int64_t unread = 0;
  for (const Open* open : noted_) unread += open->reader.Unread();
  if (unread <= options_.most_unread) return;
  constexpr int64_t kParts = 8;
  const int64_t keep = options_.most_unread / kParts / static_cast<int64_t>(noted_.size());
  for (Open* open : noted_) {
    if (open->reader.Unread() <= keep) continue;
    // The line that was read already stands before those that are left out.
    if (open->head) use_(open->log, *std::exchange(open->head, std::nullopt));
    const logs::LogReader::LeftOut left_out = open->reader.LeaveOutAllBut(keep);
    if (left_out.lines > 0 && options_.on_left_out) options_.on_left_out(open->log, left_out);
  }
}

absl::Status LogStream::NoteChanges(JobWatch& watch, std::chrono::milliseconds timeout) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> paths, watch.Wait(timeout, options_.end_fd));
  for (const std::string& path : paths) {
    if (path == folder_.root()) TONY_RETURN_IF_ERROR(Visit(watch, folder_.logs()));
    if (absl::StartsWith(path, folder_.logs())) TONY_RETURN_IF_ERROR(Visit(watch, path));
  }
  return absl::OkStatus();
}

absl::Status LogStream::Visit(JobWatch& watch, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    Touch(path);
    return absl::OkStatus();
  }
  const absl::Status watched = watch.Watch(path);
  if (absl::IsNotFound(watched)) return absl::OkStatus();  // the folder was removed again
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

void LogStream::Touch(const std::string& path) {
  const std::optional<LogFile> log = RecognizeLog(folder_, options_.selection, path);
  if (!log) return;
  auto found = logs_.find(log->path);
  if (found == logs_.end()) {
    found = logs_.emplace(log->path, Open{*log, logs::LogReader(log->path), std::nullopt}).first;
    logs::LogReader& reader = found->second.reader;
    if (options_.tail >= 0 && !started_ && IsDaemonLog(*log) && options_.level) {
      found->second.skipped = LinesBeforeTail(*log);
    } else if (options_.tail >= 0 && !started_) {
      reader.SkipToLast(options_.tail);
    } else if (options_.since >= 0) {
      reader.SkipToTime(options_.since);
    }
  }
  noted_.insert(&found->second);
}

bool LogStream::ByOrder::operator()(const Open* left, const Open* right) const {
  // std::priority_queue gives out the largest element first, so the comparison is reversed.
  if (left->head->unix_millis != right->head->unix_millis) {
    return left->head->unix_millis > right->head->unix_millis;
  }
  return ComesBefore(right->log, left->log);
}

void LogStream::Merge(int64_t horizon, bool to_end) {
  std::vector<Open*> ready;
  for (auto open = noted_.begin(); open != noted_.end();) {
    if (ReadHead(**open, to_end)) {
      ready.push_back(*open++);
    } else {
      open = noted_.erase(open);
    }
  }
  std::priority_queue<Open*, std::vector<Open*>, ByOrder> queue(ByOrder(), std::move(ready));
  while (!queue.empty()) {
    if (options_.enough && options_.enough()) return;
    Open* const next = queue.top();
    const int64_t time = next->head->unix_millis;
    // A line from further in the future was written before the clock was set back; it is printed at
    // once, so that it does not hold up its log.
    if (horizon >= 0 && time > horizon && time <= horizon + 2 * kOrderingPatience.count()) return;
    queue.pop();
    use_(next->log, *next->head);
    next->head.reset();
    if (ReadHead(*next, to_end)) {
      queue.push(next);
    } else {
      noted_.erase(next);
    }
  }
}

bool LogStream::HasLevel(const LogFile& log, const logs::LogLine& line) const {
  if (!options_.level || !IsDaemonLog(log)) return true;
  return LevelOfLogLine(line.text).value_or(LogLevel::kError) >= *options_.level;
}

int64_t LogStream::LinesBeforeTail(const LogFile& log) const {
  logs::LogReader reader(log.path);
  logs::LogLine line;
  int64_t count = 0;
  while (reader.Finish(&line)) count += HasLevel(log, line) ? 1 : 0;
  return std::max<int64_t>(0, count - options_.tail);
}

bool LogStream::ReadHead(Open& open, bool to_end) {
  while (!open.head) {
    logs::LogLine line;
    if (!(to_end ? open.reader.Finish(&line) : open.reader.Next(&line))) return false;
    const bool old = line.unix_millis != 0 && line.unix_millis < options_.since;
    if (old || !HasLevel(open.log, line)) continue;
    if (open.skipped > 0) {
      --open.skipped;
      continue;
    }
    open.head = std::move(line);
  }
  return true;
}

}  // namespace tony::history
