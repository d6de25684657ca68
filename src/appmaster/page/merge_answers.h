// Makes one page of merged lines of those that executors have read. Pure.
#pragma once

#include <vector>

#include "core/model/task_id.h"
#include "tony/v1/log_query.pb.h"
#include "web/api/job_logs.h"

namespace tony::appmaster {

/// The logs of one task, merged by its executor from a place on.
struct TaskLines {
  core::TaskId task;
  v1::MergedLines lines;
};

/// The place in the logs of `task` at which the page begins that `cursor` leads to: lines are
/// ordered by time, then by task.
logs::MergePlace PlaceIn(const core::TaskId& task, const web::MergeCursor& cursor);

/// Merges the parts by time; lines of one time keep the order of tasks. The page ends before the
/// first line that a task may still come before, so a follower gets each line once, also where the
/// clocks of the hosts differ: of a host whose clock is ahead, lines come that much later. It ends
/// as well after `limit` lines, or 1 MiB. Each task's part begins at its PlaceIn() `cursor`.
web::MergedLines MergeAnswers(std::vector<TaskLines> parts, const web::MergeCursor& cursor,
                              size_t limit);

}  // namespace tony::appmaster
