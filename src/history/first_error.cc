// Each log is read only up to its first error; the earliest of these is the cause. The guilty run's
// logs are searched first: its error ended the job, even if other tasks printed errors earlier.
#include "history/first_error.h"

#include <map>
#include <variant>

#include "history/line_tail.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"

namespace tony::history {
namespace {

bool IsMention(const logs::PrintedError& error) { return logs::SignOf(error.lines[0]) == logs::ErrorSign::kMention; }

bool IsBetter(const logs::PrintedError& left, const logs::PrintedError& right) {
  if (IsMention(left) != IsMention(right)) return IsMention(right);
  return left.unix_millis < right.unix_millis;
}

}  // namespace

std::optional<GuiltyRun> FindGuiltyRun(const storage::JobFolder& folder) {
  std::optional<GuiltyRun> guilty;
  std::map<core::TaskId, int> failed;  // task → its last attempt that failed
  const auto note = [&](const std::optional<core::TaskId>& task) {
    if (task) guilty = GuiltyRun{*task, failed[*task]};
  };
  LineTail(folder.events()).Finish([&](const std::string& line) {
    if (rpc::ScanMeasurement(line)) return;
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    if (!event.ok()) return;
    if (const auto* change = std::get_if<core::TaskChanged>(&event->body)) {
      if (change->exit && !change->exit->ok()) failed[change->task] = change->attempt;
    } else if (const auto* opened = std::get_if<core::EpochOpened>(&event->body)) {
      note(opened->guilty);
    } else if (const auto* ended = std::get_if<core::JobEnded>(&event->body)) {
      note(ended->verdict.guilty);
    }
  });
  return guilty;
}

std::optional<FoundError> FindFirstError(const storage::JobFolder& folder,
                                         const LogSelection& selection) {
  std::optional<FoundError> best;
  for (const LogFile& log : FindLogs(folder, selection)) {
    logs::LogReader reader(log.path);
    logs::ErrorFinder finder;
    logs::LogLine line;
    while (reader.Finish(&line) && !finder.Add(line)) continue;
    std::optional<logs::PrintedError> error = finder.Finish();
    if (error && (!best || IsBetter(*error, best->error))) best = FoundError{log, *error};
  }
  return best;
}

std::optional<FoundError> FindFirstErrorOfJob(const storage::JobFolder& folder,
                                              LogSelection selection) {
  if (const std::optional<GuiltyRun> guilty = FindGuiltyRun(folder)) {
    LogSelection guilty_logs = selection;
    guilty_logs.task = guilty->task.ToString();
    guilty_logs.attempt = guilty->attempt;
    if (std::optional<FoundError> found = FindFirstError(folder, guilty_logs)) return found;
  }
  return FindFirstError(folder, selection);
}

}  // namespace tony::history
