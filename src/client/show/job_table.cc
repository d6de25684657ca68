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
#include "client/show/task_rows.h"
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
constexpr size_t kMaxMissing = 8;   // names in a sentence
constexpr size_t kMaxFailed = 3;    // failures shown below counts
constexpr size_t kMaxStopping = 3;  // tasks named in the line about a stop
constexpr size_t kMaxListed = 16;   // tasks with a row each
constexpr int kNarrow = 40;         // columns, below which a line matters more than its age

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

std::string Finish(const std::string& line, const Screen& screen) {
  return absl::StrCat(CutToWidth(line, screen.width), "\n");
}

/// Wraps text that must be readable to its end, instead of cutting it.
std::string FinishWrapped(const std::string& text, const Screen& screen) {
  return absl::StrCat(absl::StrJoin(WrapToWidth(SafeText(text), screen.width), "\n"), "\n");
}

std::string RenderRows(const std::vector<TaskRow>& rows, const Screen& screen) {
  int task_width = 4, address_width = 7;
  int step_width = 0;  // the column is there if some task has a step
  bool folded = false;
  for (const TaskRow& row : rows) {
    if (!row.step.empty()) step_width = std::max({step_width, 4, DisplayWidth(row.step)});
    task_width = std::max(task_width, DisplayWidth(row.task));
    address_width = std::max(address_width, DisplayWidth(row.address));
    folded = folded || row.count > 1;
  }
  const auto join = [&](const TaskRow& row, const std::string& state, const std::string& count) {
    std::string line = absl::StrCat(
        PadToWidth(row.task, task_width), "  ", PadToWidth(state, 9), "  ",
        folded ? absl::StrCat(PadToWidth(count, 5), "  ") : "", PadToWidth(row.attempt, 7), "  ",
        PadToWidth(row.address, address_width), "  ", PadToWidth(row.time, 7), "  ",
        step_width > 0 ? absl::StrCat(PadToWidth(row.step, step_width), "  ") : "", row.note);
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  const TaskRow titles{.task = "TASK",
                       .attempt = "ATTEMPT",
                       .address = "ADDRESS",
                       .time = "TIME",
                       .step = "STEP",
                       .note = ""};
  std::string text = Finish(join(titles, "STATE", "COUNT"), screen);
  for (const TaskRow& row : rows) {
    const std::string state = core::TaskStateName(row.state);
    const size_t offset = PadToWidth(row.task, task_width).size() + 2;
    absl::StrAppend(&text, FinishLine(join(row, state, absl::StrCat(row.count)), offset,
                                      state.size(), ColorOf(row.state), screen));
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

std::string RenderTasks(const core::ObservedJob& job, int64_t now_millis, const Screen& screen) {
  const size_t most = static_cast<size_t>(std::max(1, screen.max_tasks));
  const size_t tasks = job.view.tasks.size();
  if (tasks == 0) return "";
  if (screen.all || tasks <= std::min(most, kMaxListed)) {
    return RenderRows(EachTask(job, now_millis), screen);
  }
  const std::vector<TaskRow> rows = FoldedTasks(job, now_millis);
  return rows.size() <= most ? RenderRows(rows, screen) : RenderCounts(job, screen);
}

/// "worker:0, 0.4s ago: epoch 4 loss 0.0058", a line for each task, at most `most` lines.
std::string RenderLines(const std::vector<TaskLine>& lines, int64_t now_millis, int most,
                        const Screen& screen) {
  std::string text;
  for (const TaskLine& line : lines) {
    if (most-- <= 0) break;
    const std::string age =
        core::FormatDuration(std::max<int64_t>(0, now_millis - line.unix_millis));
    absl::StrAppend(
        &text, Finish(absl::StrCat(SafeText(line.task.ToString()),
                                   screen.width < kNarrow ? "" : absl::StrCat(", ", age, " ago"),
                                   ": ", line.text),
                      screen));
  }
  return text;
}

}  // namespace

std::string FinishLine(const std::string& line, size_t offset, size_t length, const char* color,
                       const Screen& screen) {
  std::string cut = CutToWidth(line, screen.width);
  if (screen.color && *color != 0 &&
      cut.compare(0, offset + length, line, 0, offset + length) == 0) {
    cut.insert(offset + length, kPlain);
    cut.insert(offset, color);
  }
  return absl::StrCat(cut, "\n");
}

std::string RenderHeadline(const core::ObservedJob& job, int64_t now_millis, const Screen& screen) {
  const JobView& view = job.view;
  const std::string state = job.StateName();
  const std::string name = SafeText(absl::StrCat(view.job.name, " (", view.job.job_id, ")  "));
  const std::string line =
      absl::StrCat(name, state, view.epoch > 0 ? absl::StrCat("  attempt ", view.epoch + 1) : "",
                   "  ", core::FormatDuration(job.RunningMillis(now_millis)));
  const char* color = view.verdict ? ColorOf(view.verdict->outcome) : job.lost ? kRed : kCyan;
  return FinishLine(line, name.size(), state.size(), color, screen);
}

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

std::string RenderStopping(const JobView& view, int64_t now_millis, int64_t grace_millis) {
  // Until the ApplicationMaster has noted it, the programs run and know nothing.
  if (view.state != core::JobState::kStopping) return "Stopping";
  std::vector<std::string> living;
  for (const JobView::Task& task : view.tasks) {
    if (core::IsOver(task.last.state) || task.last.state == TaskState::kNew) continue;
    living.push_back(task.last.task.ToString());
  }
  if (living.empty()) return "Stopping (the executors end)";
  const size_t tasks = living.size();
  if (tasks > kMaxStopping) {
    living.resize(kMaxStopping);
    living.back() = absl::StrCat(living.back(), " and ", tasks - kMaxStopping, " more");
  }
  const int64_t left = grace_millis - std::max<int64_t>(0, now_millis - view.state_since_millis);
  const std::string how_long =
      left > 0 ? absl::StrCat(tasks == 1 ? "has " : "have ", (left + 999) / 1000, " s left")
               : absl::StrCat(tasks == 1 ? "is" : "are", " being killed");
  return SafeText(absl::StrCat("Stopping (", absl::StrJoin(living, ", "), " ", how_long, ")"));
}

std::string RenderJobTable(const core::ObservedJob& job, int64_t now_millis, const Screen& screen,
                           const std::vector<TaskLine>& lines) {
  const JobView& view = job.view;
  std::string text =
      absl::StrCat(RenderHeadline(job, now_millis, screen), RenderTasks(job, now_millis, screen));
  std::string below;
  const std::string waiting = RenderWaiting(view, now_millis);
  if (!waiting.empty()) absl::StrAppend(&below, FinishWrapped(waiting, screen));
  if (view.visualization) {
    absl::StrAppend(&below,
                    FinishWrapped(absl::StrCat("Visualization: ", view.visualization->url, " (",
                                               view.visualization->task.ToString(), ")"),
                                  screen));
  }
  if (!view.job.log_folder.empty()) {
    absl::StrAppend(&below, FinishWrapped(absl::StrCat("Logs: ", view.job.log_folder), screen));
  }
  // The tasks' lines get the room that the rest leaves, and one line stays for the cursor.
  const auto used =
      std::count(text.begin(), text.end(), '\n') + std::count(below.begin(), below.end(), '\n') + 1;
  const int room = screen.rows == 0 ? static_cast<int>(lines.size())
                                    : std::max(0, screen.rows - static_cast<int>(used));
  return absl::StrCat(text, RenderLines(lines, now_millis, room, screen), below);
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
