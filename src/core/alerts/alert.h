// Messages that tell webhooks of a job's start, restarts, hangs and end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/task_id.h"
#include "core/record/verdict.h"

namespace tony::core {

enum class AlertEvent { kStart, kRestart, kHang, kEnd };

/// "start", "restart", "hang", "end": as in tony.alerts.events.
std::string AlertEventName(AlertEvent event);

/// One alert. It holds no environment and no output of programs. A plain value.
struct Alert {
  AlertEvent event = AlertEvent::kStart;
  std::string job_id;
  std::string name;
  std::string user;
  std::string framework;
  std::string backend;
  std::string page;  ///< URL of the job's page, if other machines can open it
  int64_t unix_millis = 0;
  std::string state;     ///< "RUNNING", …; at the end the outcome: "FAILED", …
  std::string sentence;  ///< what happened, for people; may be empty
  std::string reason;    ///< of the end, "TASK_FAILED"; otherwise empty
  std::optional<TaskId> guilty;
  int attempt = 1;         ///< of the job's tasks, from 1
  int master_attempt = 1;  ///< of the ApplicationMaster, from 1
  /// Restarts that the job has left after failures, and after losses; -1: the event is no restart.
  int retries_left = -1;
  int infrastructure_retries_left = -1;
};

/// The same for each try to deliver the alert, and different for all others: receivers know by it
/// what they have had. `number`: from 1, among the alerts of this ApplicationMaster. The id of an
/// end is always that of the job's only end.
std::string AlertId(const Alert& alert, int number);

// For both forms: texts are cut to 1,000 bytes, names to 200; bytes that are not UTF-8 become
// U+FFFD and control characters spaces.

/// The alert as one JSON object (docs/alerts.md); `id`: AlertId().
std::string AlertJson(const Alert& alert, const std::string& id);

/// {"text": …} for Slack and those compatible with it. `&`, `<` and `>` are escaped, so that no
/// text of a user becomes a link or calls a channel.
std::string AlertSlack(const Alert& alert);

}  // namespace tony::core
