// Of several tasks that failed together, the one that began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

/// A task that failed.
struct TaskFailure {
  TaskId task;
  TaskExit exit;
  std::string host_id;  ///< Container::host_id; empty: not known
};

/// How far the clocks of two hosts may be apart.
inline constexpr int64_t kClockToleranceMillis = 1000;

/// The index of the guilty one among the failures of one epoch, which are in the order in which
/// they were reported; at least one.
/// 1. Only those of the guiltiest kind that there is remain (FailureKind, in its order): a lost
///    container before the program's own fault, that before what is not explained, and the victims
///    of a broken connection last. So a victim that dies, or is heard of, before its peer is not
///    taken for the cause.
/// 2. The time of a failure is that of its end. One whose end is not known is taken to have ended
///    together with the one reported just before it, or first, if none was: that is when it was
///    noticed.
/// 3. Those within kClockToleranceMillis of the earliest remain: the clocks of two hosts may differ
///    by that.
/// 4. The host of the first one reported among these is chosen: what happens first is, as a rule,
///    heard first.
/// 5. Of that host's, the earliest by its one clock; the first reported, where they are equal.
size_t RootCauseOf(const std::vector<TaskFailure>& failures);

}  // namespace tony::core
