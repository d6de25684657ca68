// The search through logs, guilty ones first.
#include "client/first_error.h"

#include <map>
#include <variant>

#include "client/line_tail.h"
#include "rpc/event_json.h"
#include "rpc/event_lines.h"

namespace tony::client {
namespace {

bool IsMention(const PrintedError& error) { return SignOf(error.lines[0]) == ErrorSign::kMention; }

bool IsBetter(const PrintedError& left, const PrintedError& right) {
  if (IsMention(left) != IsMention(right)) return IsMention(right);
  return left.unix_millis < right.unix_millis;
}

}  // namespace

std::optional<GuiltyRun> FindGuiltyRun(const backend::JobFolder& folder) {
  std::optional<GuiltyRun> guilty;
  std::map<core::TaskId, int> failed;  // the attempt
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

std::optional<FoundError> FindFirstError(const backend::JobFolder& folder,
                                         const LogSelection& selection) {
  std::optional<FoundError> best;
  for (const LogFile& log : FindLogs(folder, selection)) {
    LogReader reader(log.path);
    ErrorFinder finder;
    LogLine line;
    while (reader.Finish(&line) && !finder.Add(line)) continue;
    std::optional<PrintedError> error = finder.Finish();
    if (error && (!best || IsBetter(*error, best->error))) best = FoundError{log, *error};
  }
  return best;
}

std::optional<FoundError> FindFirstErrorOfJob(const backend::JobFolder& folder,
                                              LogSelection selection) {
  if (const std::optional<GuiltyRun> guilty = FindGuiltyRun(folder)) {
    LogSelection guilty_logs = selection;
    guilty_logs.task = guilty->task.ToString();
    guilty_logs.attempt = guilty->attempt;
    if (std::optional<FoundError> found = FindFirstError(folder, guilty_logs)) return found;
  }
  return FindFirstError(folder, selection);
}

}  // namespace tony::client
