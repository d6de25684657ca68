// Tasks as columns: the names once, and a row for each task, which is a third of the size of
// objects. Pages are found by the key of their last row, so that a task that comes or goes moves no
// other one.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/record/job_json.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

using core::OrNull;
using Task = core::JobView::Task;

constexpr const char* kColumns[] = {"task",
                                    "state",
                                    "attempt",
                                    "host",
                                    "port",
                                    "pid",
                                    "started_millis",
                                    "ended_millis",
                                    "sentence",
                                    "exit",
                                    "cpu_seconds",
                                    "memory_bytes",
                                    "max_memory_bytes",
                                    "gpu_utilization",
                                    "gpu_memory_bytes",
                                    "read_bytes",
                                    "write_bytes",
                                    "processes",
                                    "step",
                                    "seconds",
                                    "steps_per_second"};
constexpr size_t kUsageColumns = 11;

/// null for a negative number, which stands for an unknown one.
template <typename Number>
Json Known(Number number) {
  return number < 0 ? Json() : Json(number);
}

Json Row(const Task& task, const core::ObservedJob& job) {
  const core::TaskChanged& last = task.last;
  const auto found = job.times.find(last.task);
  const auto times = found == job.times.end() ? core::ObservedJob::TaskTimes{} : found->second;
  Json row = {last.task.ToString(),
              core::TaskStateName(last.state),
              last.attempt,
              OrNull(last.host),
              OrNull(last.port),
              OrNull(last.pid),
              OrNull(times.started_millis),
              OrNull(times.ended_millis),
              OrNull(last.sentence),
              last.exit ? Json(last.exit->Describe()) : Json()};
  if (!task.usage) {
    for (size_t column = 0; column < kUsageColumns; ++column) row.push_back(nullptr);
    return row;
  }
  const core::TaskUsage& usage = *task.usage;
  row.push_back(usage.cpu_seconds);
  row.push_back(usage.memory_bytes);
  row.push_back(usage.max_memory_bytes);
  row.push_back(Known(usage.gpu_utilization));
  row.push_back(Known(usage.gpu_memory_bytes));
  row.push_back(usage.read_bytes);
  row.push_back(usage.write_bytes);
  row.push_back(usage.processes);
  row.push_back(usage.progress ? Known(usage.progress->step) : Json());
  row.push_back(usage.seconds);
  row.push_back(usage.progress ? Known(usage.progress->steps_per_second) : Json());
  return row;
}

Json Columns() {
  Json columns = Json::array();
  for (const char* name : kColumns) columns.push_back(name);
  return columns;
}

int Trouble(core::TaskState state) {
  switch (state) {
    case core::TaskState::kFailed:
      return 0;
    case core::TaskState::kNew:
    case core::TaskState::kStarting:
    case core::TaskState::kReady:
      return 1;
    case core::TaskState::kRunning:
      return 2;
    case core::TaskState::kStopped:
      return 3;
    case core::TaskState::kSucceeded:
      return 4;
  }
  return 5;
}

/// What tasks are ordered by; the position, which no other task has, comes last.
using Key = std::tuple<int64_t, std::string, size_t>;

Key KeyOf(const Task& task, size_t position, const std::string& sort) {
  if (sort == "trouble") return {Trouble(task.last.state), "", position};
  if (sort == "host") return {0, task.last.host, position};
  if (sort == "memory") return {task.usage ? -task.usage->memory_bytes : 0, "", position};
  if (sort == "cpu") {
    constexpr double kMillis = 1000;
    return {task.usage ? static_cast<int64_t>(-kMillis * task.usage->cpu_seconds) : 0, "",
            position};
  }
  return {0, "", position};
}

std::string CursorOf(const Key& key, const std::string& sort) {
  return absl::WebSafeBase64Escape(
      absl::StrCat(sort, "|", std::get<0>(key), "|", std::get<2>(key), "|", std::get<1>(key)));
}

std::optional<Key> ReadCursor(const std::string& cursor, const std::string& sort) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(cursor, &text)) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('|', 3));
  Key key;
  if (parts.size() != 4 || parts[0] != sort || !absl::SimpleAtoi(parts[1], &std::get<0>(key)) ||
      !absl::SimpleAtoi(parts[2], &std::get<2>(key))) {
    return std::nullopt;
  }
  std::get<1>(key) = parts[3];
  return key;
}

bool Passes(const Task& task, const TaskWish& wish) {
  return (wish.states.empty() || absl::c_linear_search(wish.states, task.last.state)) &&
         (wish.host.empty() || wish.host == task.last.host);
}

}  // namespace

absl::StatusOr<Json> TaskPage(const core::ObservedJob& job, const TaskWish& wish) {
  std::optional<Key> behind;
  if (!wish.cursor.empty()) {
    behind = ReadCursor(wish.cursor, wish.sort);
    if (!behind) {
      return absl::InvalidArgumentError(
          "The parameter cursor is not the `next` of a page in this order.");
    }
  }
  std::vector<Key> keys;
  int64_t total = 0;
  for (size_t position = 0; position < job.view.tasks.size(); ++position) {
    const Task& task = job.view.tasks[position];
    if (!Passes(task, wish)) continue;
    ++total;
    Key key = KeyOf(task, position, wish.sort);
    if (!behind || key > *behind) keys.push_back(std::move(key));
  }
  const size_t count = std::min(wish.limit, keys.size());
  std::partial_sort(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(count), keys.end());
  Json page = {{"columns", Columns()}, {"rows", Json::array()}};
  for (size_t row = 0; row < count; ++row) {
    page["rows"].push_back(Row(job.view.tasks[std::get<2>(keys[row])], job));
  }
  page["next"] = count < keys.size() ? Json(CursorOf(keys[count - 1], wish.sort)) : Json();
  page["total"] = total;
  page["sequence"] = job.view.last_sequence;
  return page;
}

Json TasksWhere(const core::ObservedJob& job,
                const std::function<bool(const core::TaskId&)>& wanted) {
  Json page = {{"columns", Columns()}, {"rows", Json::array()}};
  for (const Task& task : job.view.tasks) {
    if (wanted(task.last.task)) page["rows"].push_back(Row(task, job));
  }
  page["next"] = nullptr;
  page["total"] = job.view.tasks.size();
  page["sequence"] = job.view.last_sequence;
  return page;
}

}  // namespace tony::web
