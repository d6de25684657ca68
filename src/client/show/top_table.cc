// A measurement comes every few seconds, and the table is drawn each second: the cores in use are
// computed anew only when a newer measurement has come.
#include "client/show/top_table.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/terminal.h"
#include "client/show/job_table.h"
#include "client/show/progress_text.h"
#include "core/record/duration_text.h"

namespace tony::client {
namespace {

using core::TaskState;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr double kMinutes = 60;
constexpr double kUsualGaps = 3;
constexpr double kFullShare = 0.9;
constexpr size_t kColumns = 10;
constexpr size_t kStateColumn = 1;
using Row = std::array<std::string, kColumns>;

const core::Progress* ProgressOf(const core::JobView::Task& task) {
  return task.usage && task.usage->progress ? &*task.usage->progress : nullptr;
}

/// While the program is in a phase of its own, such as a checkpoint, no step is expected.
bool Hangs(const core::JobView::Task& task) {
  const core::Progress* progress = ProgressOf(task);
  return progress != nullptr && progress->phase.empty() &&
         progress->idle_seconds > std::max(kMinutes, kUsualGaps * progress->long_gap_seconds);
}

TopTrouble TroubleOf(const core::JobView::Task& task, int64_t asked_bytes) {
  switch (task.last.state) {
    case TaskState::kFailed:
      return TopTrouble::kFailed;
    case TaskState::kSucceeded:
    case TaskState::kStopped:
      return TopTrouble::kOver;
    case TaskState::kRunning:
      break;
    case TaskState::kNew:
    case TaskState::kStarting:
    case TaskState::kReady:
      return TopTrouble::kNotRunning;
  }
  if (Hangs(task)) return TopTrouble::kHangs;
  const bool full = task.usage && asked_bytes > 0 &&
                    static_cast<double>(task.usage->memory_bytes) >=
                        kFullShare * static_cast<double>(asked_bytes);
  return full ? TopTrouble::kFullMemory : TopTrouble::kNone;
}

std::string Gibibytes(int64_t bytes) {
  return absl::StrFormat("%.1f", static_cast<double>(bytes) / (1024.0 * kMiB));
}

std::string MemoryOf(const TopTask& row) {
  if (!row.task->usage) return "-";
  const std::string used = Gibibytes(row.task->usage->memory_bytes);
  return row.asked_memory_bytes > 0
             ? absl::StrCat(used, "/", Gibibytes(row.asked_memory_bytes), " GiB")
             : absl::StrCat(used, " GiB");
}

std::string GpuOf(const core::JobView::Task& task) {
  if (!task.usage || task.usage->gpu_utilization < 0) return "-";
  return absl::StrFormat("%.0f%% %s GiB", task.usage->gpu_utilization,
                         Gibibytes(std::max<int64_t>(0, task.usage->gpu_memory_bytes)));
}

/// "12s", or "12s (checkpoint)" in a phase.
std::string IdleOf(const core::Progress& progress) {
  const std::string idle =
      progress.idle_seconds < 0
          ? "-"
          : core::FormatDuration(static_cast<int64_t>(progress.idle_seconds * 1000));
  return progress.phase.empty() ? idle : absl::StrCat(idle, " (", SafeText(progress.phase), ")");
}

Row TextOf(const TopTask& row) {
  const core::TaskChanged& last = row.task->last;
  Row text;
  text.fill("-");
  text[0] = SafeText(last.task.ToString());
  text[kStateColumn] = core::TaskStateName(last.state);
  if (!last.host.empty()) text[2] = SafeText(last.host);
  if (row.cores >= 0) text[3] = absl::StrFormat("%.1f", row.cores);
  text[4] = MemoryOf(row);
  text[5] = GpuOf(*row.task);
  const core::Progress* progress = ProgressOf(*row.task);
  if (progress == nullptr) return text;
  if (progress->step >= 0) text[6] = absl::StrCat(progress->step);
  if (progress->steps_per_second >= 0) text[7] = RateText(progress->steps_per_second);
  if (row.loss) text[8] = ValueText(*row.loss);
  text[9] = IdleOf(*progress);
  return text;
}

const char* ColorOf(TopTrouble trouble) {
  switch (trouble) {
    case TopTrouble::kFailed:
    case TopTrouble::kHangs:
      return "\x1b[31m";
    case TopTrouble::kFullMemory:
    case TopTrouble::kNotRunning:
      return "\x1b[33m";
    case TopTrouble::kNone:
      return "\x1b[36m";
    case TopTrouble::kOver:
      return "";
  }
  return "";
}

}  // namespace

// The first measurement gives the mean since the program's start, as does an executor that does not
// say when it has measured.
double TopTable::CoresOf(const core::JobView::Task& task, double running_seconds) {
  if (!task.usage) return -1;
  const core::TaskUsage& usage = *task.usage;
  if (usage.seconds <= 0) return running_seconds > 0 ? usage.cpu_seconds / running_seconds : -1;
  Seen& seen = seen_[task.last.task];
  if (seen.attempt != task.last.attempt) seen = {task.last.attempt, {}, -1};
  const double seconds = usage.seconds - seen.newest.seconds;
  if (seconds <= 0) return seen.cores;
  seen.cores = std::max(0.0, (usage.cpu_seconds - seen.newest.cpu_seconds) / seconds);
  seen.newest = {usage.seconds, usage.cpu_seconds};
  return seen.cores;
}

std::vector<TopTask> TopTable::Look(const core::ObservedJob& job, int64_t now_millis) {
  std::map<std::string, int64_t> asked;
  for (const core::JobSubmitted::Type& type : job.view.job.types) {
    if (type.memory_mb > 0) asked[type.name] = type.memory_mb * kMiB;
  }
  std::vector<TopTask> tasks;
  for (const core::JobView::Task& task : job.view.tasks) {
    TopTask row;
    row.task = &task;
    const auto found = asked.find(task.last.task.type);
    if (found != asked.end()) row.asked_memory_bytes = found->second;
    row.trouble = TroubleOf(task, row.asked_memory_bytes);
    const int64_t running = job.RunningMillis(task.last.task, now_millis);
    row.cores = CoresOf(task, static_cast<double>(running) / 1000);
    if (const core::Progress* progress = ProgressOf(task)) {
      const auto loss = progress->values.find("loss");
      if (loss != progress->values.end()) row.loss = loss->second;
    }
    tasks.push_back(row);
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const TopTask& left, const TopTask& right) {
    return left.trouble < right.trouble;
  });
  return tasks;
}

std::string RenderTop(const core::ObservedJob& job, const std::vector<TopTask>& tasks,
                      int64_t now_millis, const Screen& screen) {
  std::string text = RenderHeadline(job, now_millis, screen);
  if (tasks.empty()) return text;
  // Besides the rows: the headline, the titles, the line about what is left out, and the cursor's.
  size_t shown = tasks.size();
  if (screen.rows > 0 && tasks.size() + 3 > static_cast<size_t>(screen.rows)) {
    shown = static_cast<size_t>(std::max(1, screen.rows - 4));
  }
  std::vector<Row> rows = {
      {"TASK", "STATE", "HOST", "CORES", "MEMORY", "GPU", "STEP", "STEPS/S", "LOSS", "IDLE"}};
  for (size_t index = 0; index < shown; ++index) rows.push_back(TextOf(tasks[index]));
  std::array<int, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t column = 0; column < kColumns; ++column) {
      widths[column] = std::max(widths[column], DisplayWidth(row[column]));
    }
  }
  for (size_t index = 0; index < rows.size(); ++index) {
    std::string line;
    size_t offset = 0;
    for (size_t column = 0; column < kColumns; ++column) {
      if (column == kStateColumn) offset = line.size();
      const bool last = column + 1 == kColumns;
      absl::StrAppend(
          &line, last ? rows[index][column] : PadToWidth(rows[index][column], widths[column] + 2));
    }
    const char* color = index == 0 ? "" : ColorOf(tasks[index - 1].trouble);
    absl::StrAppend(&text,
                    FinishLine(line, offset, rows[index][kStateColumn].size(), color, screen));
  }
  if (shown < tasks.size()) {
    absl::StrAppend(
        &text, CutToWidth(absl::StrCat("… ", tasks.size() - shown, " more tasks"), screen.width),
        "\n");
  }
  return text;
}

}  // namespace tony::client
