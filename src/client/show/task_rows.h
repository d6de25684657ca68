// The rows of a job's table: one for each task, or one for many tasks that are alike. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/observed_job.h"

namespace tony::client {

/// One row. Plain data; all text is SafeText.
struct TaskRow {
  std::string task;  ///< "worker:0"; of several tasks the first and the last, "worker:0…63"
  core::TaskState state = core::TaskState::kNew;
  int count = 1;
  std::string attempt;
  std::string address;  ///< of several tasks their host, or how many hosts they have
  std::string time;     ///< of several tasks that of the one that has run longest
  std::string step;     ///< "120 (2.1/s)"; of several tasks the lowest and the highest; empty: none
  std::string note;
};

/// A row for each task, in the order of the job's types.
std::vector<TaskRow> EachTask(const core::ObservedJob& job, int64_t now_millis);

/// As EachTask(), but tasks of one type with the same state, attempt and note share a row if they
/// are at least four. Of failed tasks the first three have a row each.
std::vector<TaskRow> FoldedTasks(const core::ObservedJob& job, int64_t now_millis);

}  // namespace tony::client
