// What a job waits for, in words: one sentence for each state that it can be in.
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

/// A task as far as a wait depends on it. Plain data.
struct AwaitedTask {
  TaskId id;
  TaskState state = TaskState::kNew;
  bool tracked = true;  ///< the job's end waits for its own
};

/// `gang`: of that gang alone; 0: all.
std::vector<AwaitedTask> AwaitedTasks(const TaskTable& tasks, int gang = 0);
std::vector<AwaitedTask> AwaitedTasks(const JobView& view);

/// What a job in `state` with these tasks waits for: what, who is missing, what would unblock it.
/// There is something in every state but kEnded. What was put on record (JobWaiting) is more exact
/// and comes before it.
std::optional<JobWaiting> WaitIn(JobState state, const std::vector<AwaitedTask>& tasks);

/// "2 of 3 tasks are not ready; awaited: worker:0, worker:2"
std::string DescribeWait(const JobWaiting& waiting);

}  // namespace tony::core
