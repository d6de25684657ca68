// A log's size tells whether it has grown, and the time of its file when: so a log that stands
// still is not read again.
#include "client/show/task_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "logs/log_segments.h"
#include "os/files/unique_fd.h"

namespace tony::client {
namespace {

/// Enough for a line that fills any screen.
constexpr off_t kTailBytes = 4096;

/// The newest segment of a log. Plain data.
struct Segment {
  std::string path;
  off_t size = 0;
  int64_t unix_millis = 0;  ///< when it was last written to
};

/// The newest segment of the log `path` that has bytes.
std::optional<Segment> NewestSegment(const std::string& path) {
  std::vector<int> numbers = logs::FindLogSegments(path);
  std::reverse(numbers.begin(), numbers.end());
  for (const int number : numbers) {
    Segment segment{logs::LogSegmentPath(path, number)};
    struct stat status {};
    // A program may have put a link or a pipe in the log's place.
    if (lstat(segment.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    segment.size = status.st_size;
    segment.unix_millis = status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    if (segment.size > 0) return segment;
  }
  return std::nullopt;
}

/// The last part of `tail` that is not blank, between line ends and carriage returns, with which
/// progress bars overwrite their line.
std::string LastText(std::string_view tail) {
  while (!tail.empty()) {
    const size_t end = tail.find_last_of("\r\n");
    const size_t begin = end == std::string_view::npos ? 0 : end + 1;
    const std::string text = SafeText(std::string(tail.substr(begin)));
    if (text.find_first_not_of(' ') != std::string::npos) return text;
    if (begin == 0) break;
    tail = tail.substr(0, end);
  }
  return "";
}

std::string ReadLastText(const Segment& segment) {
  const os::UniqueFd fd(open(segment.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return "";
  std::string tail(kTailBytes, '\0');
  const off_t start = std::max<off_t>(0, segment.size - kTailBytes);
  const ssize_t count = pread(fd.get(), tail.data(), tail.size(), start);
  return LastText(
      std::string_view(tail).substr(0, static_cast<size_t>(std::max<ssize_t>(0, count))));
}

/// The running tasks whose lines are read, in their order.
std::vector<const core::TaskChanged*> Chosen(const core::JobView& view) {
  std::vector<const core::TaskChanged*> firsts, others;
  std::set<std::string> types;
  for (const core::JobView::Task& task : view.tasks) {
    if (task.last.state != core::TaskState::kRunning) continue;
    (types.insert(task.last.task.type).second ? firsts : others).push_back(&task.last);
  }
  firsts.insert(firsts.end(), others.begin(), others.end());
  firsts.resize(std::min(firsts.size(), TaskLines::kMostTasks));
  // All lie in one vector, in the order of the job's types.
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

}  // namespace

std::vector<TaskLine> TaskLines::Read(const core::JobView& view) {
  std::vector<TaskLine> lines;
  std::map<core::TaskId, Seen> seen;
  if (view.job.log_folder.empty()) return lines;
  for (const core::TaskChanged* task : Chosen(view)) {
    const std::string folder = absl::StrCat(view.job.log_folder, "/", task->task.ToPath(),
                                            "/attempt-", task->attempt, "/");
    std::optional<Segment> newest;
    for (const char* const stream : {"stdout.log", "stderr.log"}) {
      std::optional<Segment> segment = NewestSegment(folder + stream);
      if (segment && (!newest || segment->unix_millis > newest->unix_millis)) newest = segment;
    }
    if (!newest) continue;
    Seen& now = seen[task->task];
    const auto before = seen_.find(task->task);
    if (before != seen_.end()) now = std::move(before->second);
    if (now.path != newest->path || now.size != newest->size) {
      std::string text = ReadLastText(*newest);
      now = {newest->path, newest->size, {task->task, std::move(text), 0}};
    }
    now.line.unix_millis = newest->unix_millis;
    if (!now.line.text.empty()) lines.push_back(now.line);
  }
  seen_ = std::move(seen);
  return lines;
}

}  // namespace tony::client
