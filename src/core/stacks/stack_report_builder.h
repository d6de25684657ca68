// Puts a report of stacks together from what executors have read.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/stacks/stack_report.h"

namespace tony::core {

/// Puts a report together, within a limit on its size. Not thread safe.
class StackReportBuilder {
 public:
  /// `limit`: roughly the bytes of the finished report.
  StackReportBuilder(int64_t unix_millis, size_t limit) : room_(limit) {
    report_.unix_millis = unix_millis;
  }

  /// Adds a task with the processes of `dumps`. Processes for which there is no room are counted in
  /// the task's `trouble`.
  void Add(TaskStacks task, const std::vector<ProcessDump>& dumps);
  /// The report, with the tasks in the order of their names.
  StackReport Take() &&;

 private:
  bool AddProcess(TaskStacks& task, const ProcessDump& dump);
  bool Spend(size_t bytes);

  StackReport report_;
  std::map<Stack, int> indices_;
  size_t room_;
};

}  // namespace tony::core
