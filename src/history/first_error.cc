// Each log is read only up to its first error. The guilty run's error is the cause, even if other
// tasks printed errors earlier; a guilty run without one died silently, and the errors of others
// are its consequences.
#include "history/first_error.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "core/tasks/arrival_dates.h"
#include "history/recorded_events.h"
#include "logs/log_reader.h"

namespace tony::history {
namespace {

/// The attempt of `task` that ended with `exit`; 0: not known.
int AttemptOf(const core::TaskId& task, const std::optional<core::TaskExit>& exit,
              const core::JobView& view, const storage::JobFolder& folder) {
  const core::JobView::Task* last = view.FindTask(task);
  if (last != nullptr && (!exit || last->last.exit == exit)) return last->last.attempt;
  // A process of an elastic job may have started again before the job ended because of it.
  int attempt = 0;
  ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    const auto* change = event.ok() ? std::get_if<core::TaskChanged>(&event->body) : nullptr;
    if (change != nullptr && change->task == task && change->exit == exit)
      attempt = change->attempt;
    return true;
  });
  return attempt;
}

/// How far the clocks of the hosts on which tasks ran were ahead of the ApplicationMaster's, as the
/// recorded ends of their runs tell. Immutable.
class HostClocks {
 public:
  /// `enough`: see FindErrors(); the clocks of what was not read count as right.
  HostClocks(const storage::JobFolder& folder, const std::function<bool()>& enough) {
    ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
      const auto* change = event.ok() ? std::get_if<core::TaskChanged>(&event->body) : nullptr;
      if (enough != nullptr && enough()) return false;
      if (change == nullptr || !change->exit) return true;
      const int64_t ahead = core::ClockAhead(change->exit->host_millis, change->exit->ended_millis);
      if (ahead != 0) ahead_[{change->task.ToString(), change->attempt}] = ahead;
      return true;
    });
  }

  /// In milliseconds; 0 for a run whose end was not seen.
  int64_t AheadAt(const LogFile& log) const {
    const auto found = ahead_.find({log.task, log.attempt});
    return found == ahead_.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<std::string, int>, int64_t> ahead_;  // task, attempt → milliseconds
};

/// `since_millis` is by the ApplicationMaster's clock.
std::optional<FoundError> FindFirstErrorIn(const std::vector<LogFile>& files, int64_t since_millis,
                                           const HostClocks& clocks,
                                           const std::function<bool()>& enough = nullptr) {
  std::optional<FoundError> best;
  const auto dated = [&clocks](const FoundError& found) {
    logs::PrintedError error = found.error;
    if (error.unix_millis > 0) error.unix_millis -= clocks.AheadAt(found.log);
    return error;
  };
  for (const LogFile& log : files) {
    std::optional<logs::PrintedError> error =
        logs::FindFirstErrorIn(log.path, since_millis + clocks.AheadAt(log), enough);
    if (error) {
      FoundError found{log, *std::move(error)};
      if (!best || logs::ExplainsMore(dated(found), dated(*best))) best = std::move(found);
    }
    if (enough && enough()) break;
  }
  return best;
}

}  // namespace

bool IsMention(const FoundError& found) { return logs::IsMention(found.error); }

std::optional<Failure> FindFailure(const core::JobView& view, const storage::JobFolder& folder) {
  if (view.verdict) {
    if (view.verdict->outcome == core::Outcome::kSucceeded) return std::nullopt;
    Failure failure{view.verdict->sentence, view.verdict->guilty, 0, view.verdict->exit};
    if (failure.guilty) failure.attempt = AttemptOf(*failure.guilty, failure.exit, view, folder);
    return failure;
  }
  // A view forgets the attempts before the current one, so the job's events are read.
  std::optional<Failure> newest;
  std::map<core::TaskId, core::TaskChanged> failed;  // task → its newest failure
  ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    if (!event.ok()) return true;
    if (const auto* change = std::get_if<core::TaskChanged>(&event->body)) {
      if (change->exit && !change->exit->ok()) failed[change->task] = *change;
    } else if (const auto* opened = std::get_if<core::EpochOpened>(&event->body)) {
      newest = Failure{opened->cause, opened->guilty, 0, std::nullopt};
      const auto change = opened->guilty ? failed.find(*opened->guilty) : failed.end();
      if (change == failed.end()) return true;
      newest->attempt = change->second.attempt;
      newest->exit = change->second.exit;
    }
    return true;
  });
  return newest;
}

std::optional<FoundError> FindFirstError(const storage::JobFolder& folder,
                                         const LogSelection& selection, int64_t since_millis) {
  return FindFirstErrorIn(FindLogs(folder, selection), since_millis, HostClocks(folder, nullptr));
}

FailureErrors FindErrorsOf(const Failure& failure, const storage::JobFolder& folder,
                           const LogSelection& selection, const std::function<bool()>& enough) {
  FailureErrors errors;
  const HostClocks clocks(folder, enough);
  if (!failure.guilty) {
    errors.own = FindFirstErrorIn(FindLogs(folder, selection), 0, clocks, enough);
    return errors;
  }
  const std::string guilty = failure.guilty->ToString();
  std::vector<LogFile> own_logs, other_logs;
  for (LogFile& log : FindLogs(folder, selection)) {
    if (log.task != guilty) {
      other_logs.push_back(std::move(log));
    } else if (failure.attempt == 0 || log.attempt == failure.attempt) {
      own_logs.push_back(std::move(log));
    }
  }
  errors.own = FindFirstErrorIn(own_logs, 0, clocks, enough);
  errors.printed = std::any_of(own_logs.begin(), own_logs.end(), [](const LogFile& log) {
    logs::LogLine line;
    return logs::LogReader(log.path).Finish(&line);
  });
  // A victim notices the end of a connection a little before anybody notices the end of the
  // process.
  int64_t since = failure.exit ? failure.exit->ended_millis - core::kArrivalToleranceMillis : 0;
  if (errors.own && errors.own->error.unix_millis > 0) {
    since = errors.own->error.unix_millis - clocks.AheadAt(errors.own->log);
  }
  errors.after = FindFirstErrorIn(other_logs, since, clocks, enough);
  return errors;
}

}  // namespace tony::history
