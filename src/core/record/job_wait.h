// The sentences that say what a job waits for: one for each of its states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/task_id.h"
#include "core/record/job_event.h"
#include "core/record/job_view.h"
#include "core/record/task_table.h"
#include "core/tasks/job_state.h"

namespace tony::core {

/// The part of a task's state that a wait depends on. Plain data.
struct AwaitedTask {
  TaskId id;
  TaskState state = TaskState::kNew;
  bool tracked = true;  ///< the job waits for the end of this task
};

/// The tasks of a gang, or all tasks when `gang` is 0.
std::vector<AwaitedTask> AwaitedTasks(const TaskTable& tasks, int gang = 0);
std::vector<AwaitedTask> AwaitedTasks(const JobView& view);

/// The wait of a job in `state` with these tasks: the cause, the missing tasks, and what would
/// unblock the job. nullopt – only in kEnded. A wait on record (JobWaiting) is more exact and takes
/// precedence.
std::optional<JobWaiting> WaitIn(JobState state, const std::vector<AwaitedTask>& tasks);

/// What a job that has no wait on record waits for. nullopt while something is merely going on: the
/// programs run, or their ends are judged.
std::optional<JobWaiting> WaitOf(const JobView& view);

/// The beginning of JobWaiting::what when ranks wait for each other for too long.
inline constexpr char kStalled[] = "STALLED: ";

/// "Waiting for 4m 10s", or "STALLED 4m 10s". `duration`: how long so far; empty: not known.
std::string TitleOfWait(const JobWaiting& waiting, const std::string& duration);
/// JobWaiting::what, without what TitleOfWait() says.
std::string SubjectOfWait(const JobWaiting& waiting);

/// "2 of 3 tasks are not ready; awaited: worker:0, worker:2"
std::string DescribeWait(const JobWaiting& waiting);

}  // namespace tony::core
