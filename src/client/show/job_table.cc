// Columns are padded and cut by display width. Colour is added last, because escape sequences have
// no width and must not be cut in two.
#include "client/show/job_table.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"
#include "client/show/source_paths.h"
#include "core/record/duration_text.h"
#include "core/record/job_wait.h"

namespace tony::client {
namespace {

using core::JobView;
using core::TaskState;

constexpr char kRed[] = "\x1b[31m";
constexpr char kGreen[] = "\x1b[32m";
constexpr char kYellow[] = "\x1b[33m";
constexpr char kCyan[] = "\x1b[36m";
constexpr char kPlain[] = "\x1b[0m";
constexpr size_t kMaxMissing = 8;  // names in a sentence
constexpr size_t kMaxFailed = 3;   // failures shown below counts

const char* ColorOf(TaskState state) {
  switch (state) {
    case TaskState::kRunning:
      return kCyan;
    case TaskState::kSucceeded:
      return kGreen;
    case TaskState::kFailed:
      return kRed;
    case TaskState::kNew:
    case TaskState::kStarting:
    case TaskState::kReady:
      return kYellow;
    case TaskState::kStopped:
      return "";
  }
  return "";
}

const char* ColorOf(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::kSucceeded:
      return kGreen;
    case core::Outcome::kFailed:
      return kRed;
    case core::Outcome::kKilled:
      return kYellow;
  }
  return kPlain;
}

/// Cuts `line` to the screen, and colours `length` bytes from `offset` on in `color` if the cut has
/// left them whole.
std::string Finish(const std::string& line, size_t offset, size_t length, const char* color,
                   const Screen& screen) {
  std::string cut = CutToWidth(line, screen.width);
  if (screen.color && *color != 0 &&
      cut.compare(0, offset + length, line, 0, offset + length) == 0) {
    cut.insert(offset + length, kPlain);
    cut.insert(offset, color);
  }
  return absl::StrCat(cut, "\n");
}

std::string Finish(const std::string& line, const Screen& screen) {
  return absl::StrCat(CutToWidth(line, screen.width), "\n");
}

/// Wraps text that must be readable to its end, instead of cutting it.
std::string FinishWrapped(const std::string& text, const Screen& screen) {
  return absl::StrCat(absl::StrJoin(WrapToWidth(SafeText(text), screen.width), "\n"), "\n");
}

std::string Headline(const core::ObservedJob& job, int64_t now_millis, const Screen& screen) {
  const JobView& view = job.view;
  const std::string state = job.StateName();
  const std::string name = SafeText(absl::StrCat(view.job.name, " (", view.job.job_id, ")  "));
  const std::string line =
      absl::StrCat(name, state, view.epoch > 0 ? absl::StrCat("  attempt ", view.epoch + 1) : "",
                   "  ", core::FormatDuration(job.RunningMillis(now_millis)));
  const char* color = view.verdict ? ColorOf(view.verdict->outcome) : job.lost ? kRed : kCyan;
  return Finish(line, name.size(), state.size(), color, screen);
}

/// The text columns of one task's row.
struct Row {
  std::string task, state, attempt, address, time, note;
  TaskState value = TaskState::kNew;
};

Row MakeRow(const core::ObservedJob& job, const core::TaskChanged& last, int64_t now_millis) {
  Row row;
  row.value = last.state;
  row.task = SafeText(last.task.ToString());
  row.state = core::TaskStateName(last.state);
  row.attempt = last.attempt > 0 ? absl::StrCat(last.attempt) : "-";
  row.address = last.host.empty() ? "-"
                : last.port == 0  ? SafeText(last.host)
                                  : SafeText(absl::StrCat(last.host, ":", last.port));
  row.time = core::FormatDuration(job.RunningMillis(last.task, now_millis));
  if (!last.sentence.empty()) {
    row.note = SafeText(last.sentence);
  } else if (last.exit && !last.exit->ok() && last.state != core::TaskState::kStopped) {
    row.note = SafeText(last.exit->Describe());
  }
  return row;
}

std::string RenderTasks(const core::ObservedJob& job, int64_t now_millis, const Screen& screen) {
  std::vector<Row> rows;
  int task_width = 4, address_width = 7;
  for (const JobView::Task& task : job.view.tasks) {
    rows.push_back(MakeRow(job, task.last, now_millis));
    task_width = std::max(task_width, DisplayWidth(rows.back().task));
    address_width = std::max(address_width, DisplayWidth(rows.back().address));
  }
  const auto join = [&](const Row& row) {
    std::string line =
        absl::StrCat(PadToWidth(row.task, task_width), "  ", PadToWidth(row.state, 9), "  ",
                     PadToWidth(row.attempt, 7), "  ", PadToWidth(row.address, address_width), "  ",
                     PadToWidth(row.time, 7), "  ", row.note);
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  std::string text = Finish(join({"TASK", "STATE", "ATTEMPT", "ADDRESS", "TIME", ""}), screen);
  for (const Row& row : rows) {
    const size_t offset = PadToWidth(row.task, task_width).size() + 2;
    absl::StrAppend(&text, Finish(join(row), offset, row.state.size(), ColorOf(row.value), screen));
  }
  return text;
}

/// Renders one line for each type with the number of tasks in each state, and the first failures by
/// name. It replaces the table of tasks when that is longer than the screen.
std::string RenderCounts(const core::ObservedJob& job, const Screen& screen) {
  std::map<std::string, std::map<TaskState, int>> counts;
  std::vector<std::string> failed;
  for (const JobView::Task& task : job.view.tasks) {
    ++counts[task.last.task.type][task.last.state];
    if (task.last.state != TaskState::kFailed) continue;
    const std::string how = task.last.exit ? task.last.exit->Describe() : task.last.sentence;
    failed.push_back(SafeText(absl::StrCat(task.last.task.ToString(), " ", how)));
  }
  std::string text;
  int width = 4;
  for (const auto& type : job.view.job.types)
    width = std::max(width, DisplayWidth(SafeText(core::TypeName(type.name))));
  absl::StrAppend(&text,
                  Finish(absl::StrCat(PadToWidth("TYPE", width), "  TASKS  STATES"), screen));
  for (const core::JobSubmitted::Type& type : job.view.job.types) {
    std::vector<std::string> states;
    for (const auto& [state, count] : counts[type.name]) {
      states.push_back(absl::StrCat(count, " ", core::TaskStateName(state)));
    }
    absl::StrAppend(
        &text, Finish(absl::StrCat(PadToWidth(SafeText(core::TypeName(type.name)), width), "  ",
                                   PadToWidth(absl::StrCat(type.instances), 5), "  ",
                                   absl::StrJoin(states, ", ")),
                      screen));
  }
  for (size_t index = 0; index < std::min(failed.size(), kMaxFailed); ++index) {
    absl::StrAppend(&text, Finish(failed[index], screen));
  }
  if (failed.size() > kMaxFailed) {
    absl::StrAppend(
        &text, Finish(absl::StrCat("and ", failed.size() - kMaxFailed, " more failed"), screen));
  }
  return text;
}

}  // namespace

std::string RenderWaiting(const JobView& view, int64_t now_millis) {
  if (!view.waiting) return "";
  const core::JobWaiting& waiting = *view.waiting;
  std::string text = absl::StrCat(
      core::TitleOfWait(waiting, core::FormatDuration(now_millis - view.waiting_since_millis)),
      ": ", core::SubjectOfWait(waiting));
  if (!waiting.missing.empty()) {
    const size_t shown = std::min(waiting.missing.size(), kMaxMissing);
    absl::StrAppend(&text, "; awaited: ",
                    absl::StrJoin(waiting.missing.begin(), waiting.missing.begin() + shown, ", "));
    if (shown < waiting.missing.size()) {
      absl::StrAppend(&text, " and ", waiting.missing.size() - shown, " more");
    }
  }
  if (!waiting.unblock.empty()) absl::StrAppend(&text, "; ", waiting.unblock);
  return SafeText(text);
}

std::string RenderJobTable(const core::ObservedJob& job, int64_t now_millis, const Screen& screen) {
  const JobView& view = job.view;
  std::string text = Headline(job, now_millis, screen);
  if (static_cast<int>(view.tasks.size()) > screen.max_tasks) {
    absl::StrAppend(&text, RenderCounts(job, screen));
  } else if (!view.tasks.empty()) {
    absl::StrAppend(&text, RenderTasks(job, now_millis, screen));
  }
  const std::string waiting = RenderWaiting(view, now_millis);
  if (!waiting.empty()) absl::StrAppend(&text, FinishWrapped(waiting, screen));
  if (view.visualization) {
    absl::StrAppend(&text,
                    FinishWrapped(absl::StrCat("Visualization: ", view.visualization->url, " (",
                                               view.visualization->task.ToString(), ")"),
                                  screen));
  }
  if (!view.job.log_folder.empty()) {
    absl::StrAppend(&text, FinishWrapped(absl::StrCat("Logs: ", view.job.log_folder), screen));
  }
  return text;
}

std::string RenderVerdict(const JobView& view, const Screen& screen) {
  if (!view.verdict) return "";
  const core::Verdict& verdict = *view.verdict;
  const std::string outcome = core::OutcomeName(verdict.outcome);
  std::string text =
      screen.color ? absl::StrCat(ColorOf(verdict.outcome), outcome, kPlain) : outcome;
  absl::StrAppend(&text, " (", core::ReasonName(verdict.reason), "): ", SafeText(verdict.sentence),
                  "\n");
  const std::string guilty = verdict.guilty ? SafeText(verdict.guilty->ToString()) : "";
  if (verdict.exit && !verdict.exit->tail.empty()) {
    absl::StrAppend(&text, "Last lines of ", guilty.empty() ? "the output" : guilty, ":\n");
    std::error_code ignored;
    const SourcePaths paths(view, std::filesystem::current_path(ignored).string());
    for (const std::string& line : paths.Rewrite(verdict.exit->tail))
      absl::StrAppend(&text, "  | ", SafeText(line), "\n");
  }
  if (verdict.outcome != core::Outcome::kSucceeded && !view.job.job_id.empty()) {
    absl::StrAppend(&text, "All output: tony logs ", SafeText(view.job.job_id),
                    guilty.empty() ? "" : " ", guilty, "\n");
  }
  return text;
}

}  // namespace tony::client
