// The choice of the root cause among several tasks that failed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

/// The failure of one task.
struct TaskFailure {
  TaskId task;
  TaskExit exit;
  std::string host_id;  ///< Container::host_id; empty: not known
};

/// The index of the root cause in `failures`: the failures of one epoch in the order in which they
/// were reported, at least one.
/// 1. Only failures of the guiltiest kind remain (FailureKind, in its order): a lost container
///    before the program's own fault, that before an unexplained end, and victims of a broken
///    connection last. So a victim that dies, or is reported, before its peer is not taken for the
///    cause.
/// 2. The time of a failure is that of the task's end, by the ApplicationMaster's clock: hosts'
///    clocks may differ by minutes. A failure with an unknown end gets the time of the one reported
///    just before it, or the earliest time if there is none: that is when it was noticed.
/// 3. The failures within kArrivalToleranceMillis of the earliest remain, since the messages of two
///    hosts may take their time.
/// 4. The host of the first reported failure among these is chosen: what happens first is usually
///    reported first.
/// 5. On that host the earliest failure by its one clock is the root cause (TaskExit::host_millis;
///    by rule 2 if one of the two does not have it); among equal times, the first reported.
size_t RootCauseOf(const std::vector<TaskFailure>& failures);

}  // namespace tony::core
