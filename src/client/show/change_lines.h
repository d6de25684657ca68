// Describes each change of a job in lines of plain text. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/record/job_event.h"

namespace tony::client {

/// Describes an event about the job as a whole, in lines ended by '\n'. An empty string for events
/// about one task, for waiting and for the verdict, which are shown in other ways.
std::string DescribeJobChange(const core::JobEvent& event);

/// "worker:1 exited with code 3: …\n" for a failed task; an empty string for any other change.
std::string DescribeFailure(const core::TaskChanged& change);

/// Groups the tasks by their states, one line for each state: "RUNNING: ps [0] worker [0, 1]\n".
/// Types are in the order of their first task; runs of four or more indices are shortened to "0-3".
std::string GroupTasks(const std::vector<core::TaskChanged>& changes);

}  // namespace tony::client
