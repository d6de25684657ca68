// Tasks are grouped by what their rows would say. A group need not be a run of indices: the
// exceptions in between have rows of their own, and the count tells how many are meant.
#include "client/show/task_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/show/progress_text.h"
#include "core/record/duration_text.h"

namespace tony::client {
namespace {

using core::TaskState;

constexpr size_t kFewest = 4;      // tasks that share a row
constexpr int kNamedFailures = 3;  // failed tasks with a row each

TaskRow RowOf(const core::ObservedJob& job, const core::JobView::Task& task, int64_t now_millis) {
  const core::TaskChanged& last = task.last;
  TaskRow row;
  row.task = SafeText(last.task.ToString());
  row.state = last.state;
  row.attempt = last.attempt > 0 ? absl::StrCat(last.attempt) : "-";
  row.address = last.host.empty() ? "-"
                : last.port == 0  ? SafeText(last.host)
                                  : SafeText(absl::StrCat(last.host, ":", last.port));
  row.time = core::FormatDuration(job.RunningMillis(last.task, now_millis));
  if (task.usage && task.usage->progress) row.step = StepText(*task.usage->progress);
  if (!last.sentence.empty()) {
    row.note = SafeText(last.sentence);
  } else if (last.exit && !last.exit->ok() && last.state != TaskState::kStopped) {
    row.note = SafeText(last.exit->Describe());
  }
  return row;
}

/// Tasks that may share a row, in their order.
struct Group {
  std::vector<const core::JobView::Task*> tasks;
  std::vector<TaskRow> rows;
};

/// "118…120", the lowest and the highest step of the tasks that have any.
std::string StepsOf(const Group& group) {
  std::set<int64_t> steps;
  for (const core::JobView::Task* task : group.tasks) {
    if (task->usage && task->usage->progress && task->usage->progress->step >= 0) {
      steps.insert(task->usage->progress->step);
    }
  }
  if (steps.size() < 2) return steps.empty() ? "" : absl::StrCat(*steps.begin());
  return absl::StrCat(*steps.begin(), "…", *steps.rbegin());
}

TaskRow FoldedRow(const core::ObservedJob& job, const Group& group, int64_t now_millis) {
  TaskRow row = group.rows.front();
  row.task = absl::StrCat(row.task, "…", group.tasks.back()->last.task.index);
  row.count = static_cast<int>(group.tasks.size());
  std::set<std::string> hosts;
  int64_t longest = -1;
  for (const core::JobView::Task* task : group.tasks) {
    if (!task->last.host.empty()) hosts.insert(task->last.host);
    longest = std::max(longest, job.RunningMillis(task->last.task, now_millis));
  }
  row.step = StepsOf(group);
  row.address = hosts.empty()       ? "-"
                : hosts.size() == 1 ? SafeText(*hosts.begin())
                                    : absl::StrCat(hosts.size(), " hosts");
  row.time = core::FormatDuration(longest);
  return row;
}

}  // namespace

std::vector<TaskRow> EachTask(const core::ObservedJob& job, int64_t now_millis) {
  std::vector<TaskRow> rows;
  for (const core::JobView::Task& task : job.view.tasks) {
    rows.push_back(RowOf(job, task, now_millis));
  }
  return rows;
}

std::vector<TaskRow> FoldedTasks(const core::ObservedJob& job, int64_t now_millis) {
  std::map<std::tuple<std::string, TaskState, std::string, std::string>, Group> groups;
  std::map<const core::JobView::Task*, TaskRow>
      rows;  // by the first task; order: of the view below
  int failures = 0;
  for (const core::JobView::Task& task : job.view.tasks) {
    TaskRow row = RowOf(job, task, now_millis);
    if (row.state == TaskState::kFailed && failures++ < kNamedFailures) {
      rows.emplace(&task, std::move(row));
      continue;
    }
    Group& group = groups[{task.last.task.type, row.state, row.attempt, row.note}];
    group.tasks.push_back(&task);
    group.rows.push_back(std::move(row));
  }
  for (const auto& [alike, group] : groups) {
    if (group.tasks.size() >= kFewest) {
      rows.emplace(group.tasks.front(), FoldedRow(job, group, now_millis));
      continue;
    }
    for (size_t index = 0; index < group.tasks.size(); ++index) {
      rows.emplace(group.tasks[index], group.rows[index]);
    }
  }
  // The tasks lie in one vector, so that their addresses have the order of the job's types.
  std::vector<TaskRow> ordered;
  for (auto& [task, row] : rows) ordered.push_back(std::move(row));
  return ordered;
}

}  // namespace tony::client
