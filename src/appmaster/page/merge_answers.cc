// Every executor says up to which place it has given all lines. No line can come before the least
// of these places any more, so the page ends there. The parts are merged by a heap that stops at
// that place or when the page is full, so the event loop looks at no more lines than it gives.
#include "appmaster/page/merge_answers.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/task_path.h"

namespace tony::appmaster {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
/// What a line takes in the page besides its text.
constexpr size_t kLineBytes = 64;

/// A place between the lines of all tasks.
using Place = std::tuple<int64_t, core::TaskId, int64_t>;  // time, task, lines of that time

std::string StreamName(v1::ReadLog::Stream stream) {
  if (stream == v1::ReadLog::STDOUT) return "stdout";
  return stream == v1::ReadLog::STDERR ? "stderr" : "executor";
}

/// One task's part, and its first row that was not used yet.
struct Head {
  TaskLines* part = nullptr;
  size_t position = 0;  ///< of the part in the order of tasks
  int row = 0;

  v1::MergedLines::Row& Row() const { return *part->lines.mutable_rows(row); }
  Place place() const {
    return {part->lines.rows(row).unix_millis(), part->task, part->lines.rows(row).place()};
  }
  /// Goes to the next row; false: there is none. An executor gives its rows in order; one that lies
  /// before the one before it would lead a follower back, and is left out.
  bool Next() {
    const auto key = [this](int at) {
      return std::pair(part->lines.rows(at).unix_millis(), part->lines.rows(at).place());
    };
    const auto last = key(row);
    while (++row < part->lines.rows_size()) {
      if (key(row) > last) return true;
    }
    return false;
  }
};

struct ComesLater {
  bool operator()(const Head& left, const Head& right) const {
    const v1::MergedLines::Row& a = left.part->lines.rows(left.row);
    const v1::MergedLines::Row& b = right.part->lines.rows(right.row);
    return std::tuple(a.unix_millis(), left.position, a.place()) >
           std::tuple(b.unix_millis(), right.position, b.place());
  }
};

core::TaskId TaskOf(const web::MergeCursor& cursor) {
  return core::TaskFromPath(cursor.task).value_or(core::TaskId{});
}

}  // namespace

// Where the task that the cursor names is no more, the order still tells which came before it.
logs::MergePlace PlaceIn(const core::TaskId& task, const web::MergeCursor& cursor) {
  const core::TaskId last = TaskOf(cursor);
  if (task == last) return cursor.place;
  if (task < last) return {cursor.place.millis + 1, 0};
  return {cursor.place.millis, 0};
}

web::MergedLines MergeAnswers(std::vector<TaskLines> parts, const web::MergeCursor& cursor,
                              size_t limit) {
  web::MergedLines page;
  page.next = cursor;
  page.empty = parts.empty();
  if (parts.empty()) return page;
  Place end{};
  for (const TaskLines& part : parts) {
    const Place place{part.lines.place_millis(), part.task, part.lines.place_skip()};
    const bool first = &part == &parts.front();
    if (first || place < end) {
      end = place;
      page.more = part.lines.more();
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const TaskLines& left, const TaskLines& right) { return left.task < right.task; });
  std::priority_queue<Head, std::vector<Head>, ComesLater> heads;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].lines.rows_size() > 0) heads.push({&parts[i], i});
  }
  size_t bytes = 0;
  while (!heads.empty() && heads.top().place() <= end) {
    if (page.lines.size() >= limit || bytes >= kMostBytes) {
      page.more = true;
      return page;
    }
    Head head = heads.top();
    heads.pop();
    v1::MergedLines::Row& row = head.Row();
    bytes += row.text().size() + kLineBytes;
    page.lines.push_back({row.unix_millis(), head.part->task.ToString(), row.attempt(),
                          StreamName(row.stream()), std::move(*row.mutable_text())});
    page.next = {{row.unix_millis(), row.place()}, head.part->task.ToPath()};
    if (head.Next()) heads.push(head);
  }
  page.next = {{std::get<0>(end), std::get<2>(end)}, std::get<1>(end).ToPath()};
  return page;
}

}  // namespace tony::appmaster
