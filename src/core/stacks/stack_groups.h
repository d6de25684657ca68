// Groups processes that are at the same place, and finds the few that are somewhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/stacks/stack_report.h"

namespace tony::core {

/// A process of a report: report.tasks[task].processes[process].
struct ProcessIndex {
  int task = 0;
  int process = 0;

  bool operator==(const ProcessIndex&) const = default;
};

/// Processes with equal stacks.
struct StackGroup {
  std::vector<int> stacks;  ///< indices in the report; the main thread's first
  std::vector<ProcessIndex> members;
  /// Most of the processes that run the same program as these are in one other group: those wait,
  /// perhaps for these.
  bool suspect = false;
  size_t others = 0;  ///< size of that other group, if this is a suspect

  bool operator==(const StackGroup&) const = default;
};

enum class GroupBy {
  kMainThread,  ///< processes whose main threads have equal stacks
  kAllThreads,  ///< processes whose threads together have equal stacks, in whatever order
};

/// The processes of `report` in groups, by the rule that LLNL's STAT follows for MPI: the small
/// group is the suspect.
/// 1. Processes are peers if they run the same program, which is the file of the outermost call of
///    the main thread, and have equally many ancestors with stacks in their tasks. So helpers that
///    every rank has forked do not outnumber the ranks.
/// 2. If more than half of three or more peers have equal main stacks, peers with others are
///    suspects.
/// 3. Suspects come first, the smallest group before others; then groups with stacks, the largest
///    first; then those of which only /proc has told.
/// Processes without any thread are in no group. With kMainThread, those of which only /proc has
/// told are left out if their task has a process with a stack and there is no trouble with them: a
/// shell that waits for the program tells nothing.
std::vector<StackGroup> GroupStacks(const StackReport& report, GroupBy by);

/// How many processes with stacks are in both reports, and how many of those were somewhere else in
/// the earlier one: by their main threads.
struct Movement {
  size_t compared = 0;
  size_t moved = 0;
  std::vector<TaskId> tasks;  ///< those of the processes that moved
};
Movement CompareStacks(const StackReport& before, const StackReport& after);

/// "worker:1"; with the number of the process if its task has several in the groups:
/// "worker:1/4711".
std::string ProcessName(const StackReport& report, const ProcessIndex& index);

/// The innermost call for a sentence: "load_batch (train.py:12)". Empty if there is none.
std::string TopCall(const Stack& stack);

/// The one task whose processes are suspects; nullopt: there is none, or several tasks have some.
std::optional<TaskId> SuspectTask(const StackReport& report, const std::vector<StackGroup>& groups);

/// "worker:1 is in load_batch (train.py:12) while 3 others are in all_reduce (sync.py:7)"; empty if
/// there is no suspect.
std::string SuspectSentence(const StackReport& report, const std::vector<StackGroup>& groups);

}  // namespace tony::core
