// A measurement comes with a heartbeat; an end comes by itself, or with the hello after a broken
// stream.
#include "core/job/date_input.h"

#include <variant>

#include "core/tasks/arrival_dates.h"

namespace tony::core {

void DateInput(int64_t now_millis, JobInput& input) {
  if (auto* const heartbeat = std::get_if<input::Heartbeat>(&input)) {
    if (heartbeat->usage) DateProgress(now_millis, *heartbeat->usage);
  } else if (auto* const ended = std::get_if<input::TaskEnded>(&input)) {
    DateExit(now_millis, ended->exit);
  } else if (auto* const attached = std::get_if<input::ExecutorAttached>(&input)) {
    if (attached->held) DateExit(now_millis, attached->held->exit);
  }
}

}  // namespace tony::core
