// Every executor says up to which place it has given all lines. No line can come before the least
// of these places any more, so the page ends there.
#include "appmaster/page/merge_answers.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/model/task_path.h"

namespace tony::appmaster {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

/// A place between the lines of all tasks.
using Place = std::tuple<int64_t, core::TaskId, int64_t>;  // time, task, lines of that time

std::string StreamName(v1::ReadLog::Stream stream) {
  if (stream == v1::ReadLog::STDOUT) return "stdout";
  return stream == v1::ReadLog::STDERR ? "stderr" : "executor";
}

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
  using Row = std::pair<Place, std::pair<const TaskLines*, v1::MergedLines::Row*>>;
  std::vector<Row> rows;
  for (TaskLines& part : parts) {
    for (v1::MergedLines::Row& row : *part.lines.mutable_rows()) {
      const Place place{row.unix_millis(), part.task, row.place()};
      if (place <= end) rows.push_back({place, {&part, &row}});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& left, const Row& right) { return left.first < right.first; });
  size_t bytes = 0;
  for (auto& [place, found] : rows) {
    if (page.lines.size() >= limit || bytes >= kMostBytes) {
      page.more = true;
      break;
    }
    auto& [part, row] = found;
    bytes += row->text().size();
    page.lines.push_back({row->unix_millis(), part->task.ToString(), row->attempt(),
                          StreamName(row->stream()), std::move(*row->mutable_text())});
    page.next = {{row->unix_millis(), row->place()}, part->task.ToPath()};
  }
  if (page.lines.size() == rows.size()) {
    page.next = {{std::get<0>(end), std::get<2>(end)}, std::get<1>(end).ToPath()};
  }
  return page;
}

}  // namespace tony::appmaster
