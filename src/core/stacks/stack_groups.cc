// Equal stacks have equal indices, so processes are grouped by comparing numbers.
#include "core/stacks/stack_groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

constexpr char kProcWay[] = "proc";
/// Names of processes in a sentence.
constexpr size_t kMostNames = 4;

bool HasStack(const ProcessStacks& process) {
  return !process.threads.empty() && process.way != kProcWay;
}

const ProcessStacks& At(const StackReport& report, const ProcessIndex& index) {
  return report.tasks[index.task].processes[index.process];
}

/// Index of the main thread's stack, or else of the first one.
int MainStack(const ProcessStacks& process) {
  for (const ThreadStack& thread : process.threads) {
    if (thread.main) return thread.stack;
  }
  return process.threads.front().stack;
}

/// The stacks by which processes are compared. Threads have no order that two processes share, so
/// the others than the main one are sorted.
std::vector<int> KeyOf(const ProcessStacks& process, GroupBy by) {
  std::vector<int> stacks{MainStack(process)};
  if (by == GroupBy::kMainThread) return stacks;
  bool main_left_out = false;
  for (const ThreadStack& thread : process.threads) {
    if (thread.stack == stacks.front() && !std::exchange(main_left_out, true)) continue;
    stacks.push_back(thread.stack);
  }
  std::sort(stacks.begin() + 1, stacks.end());
  return stacks;
}

/// How many ancestors with stacks a process has in its task. The walk is bounded, because the
/// numbers come from an executor and could form a ring.
int Depth(const TaskStacks& task, const ProcessStacks& process) {
  int depth = 0;
  int64_t parent = process.parent;
  for (size_t step = 0; step < task.processes.size(); ++step) {
    const auto found =
        std::find_if(task.processes.begin(), task.processes.end(),
                     [parent](const ProcessStacks& other) { return other.pid == parent; });
    if (found == task.processes.end()) break;
    if (HasStack(*found)) ++depth;
    parent = found->parent;
  }
  return depth;
}

/// What peers have in common: way of reading, program, depth.
using Peers = std::tuple<std::string, std::string, int>;

Peers PeersOf(const StackReport& report, const ProcessIndex& index) {
  const TaskStacks& task = report.tasks[index.task];
  const ProcessStacks& process = At(report, index);
  const Stack& main = report.stacks[MainStack(process)];
  // The name of the outermost function would part the ranks of native programs, which have no file.
  const std::string program = main.frames.empty() ? "" : main.frames.back().file;
  return {process.way, program.empty() ? process.program : program, Depth(task, process)};
}

bool IsShown(const TaskStacks& task, const ProcessStacks& process, GroupBy by) {
  if (process.threads.empty()) return false;
  if (HasStack(process) || by == GroupBy::kAllThreads || !process.trouble.empty()) return true;
  return std::none_of(task.processes.begin(), task.processes.end(), HasStack);
}

/// Marks suspects among the groups of one set of peers, which are `of_peers`. Peers with equal main
/// stacks count together, also if their other threads differ.
void MarkSuspects(std::vector<StackGroup>& groups, const std::vector<size_t>& of_peers) {
  std::map<int, size_t> by_main;
  size_t all = 0;
  for (const size_t group : of_peers) {
    by_main[groups[group].stacks.front()] += groups[group].members.size();
    all += groups[group].members.size();
  }
  if (all < 3) return;
  const auto most =
      std::max_element(by_main.begin(), by_main.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second * 2 <= all) return;
  for (const size_t group : of_peers) {
    if (groups[group].stacks.front() == most->first) continue;
    groups[group].suspect = true;
    groups[group].others = most->second;
  }
}

}  // namespace

std::vector<StackGroup> GroupStacks(const StackReport& report, GroupBy by) {
  std::map<std::pair<Peers, std::vector<int>>, size_t> known;
  std::map<Peers, std::vector<size_t>> by_peers;
  std::vector<StackGroup> groups;
  for (size_t task = 0; task < report.tasks.size(); ++task) {
    const TaskStacks& of_task = report.tasks[task];
    for (size_t process = 0; process < of_task.processes.size(); ++process) {
      const ProcessStacks& one = of_task.processes[process];
      if (!IsShown(of_task, one, by)) continue;
      const ProcessIndex index{static_cast<int>(task), static_cast<int>(process)};
      const Peers peers = PeersOf(report, index);
      std::vector<int> stacks = KeyOf(one, by);
      const auto [found, is_new] = known.try_emplace({peers, stacks}, groups.size());
      if (is_new) {
        by_peers[peers].push_back(groups.size());
        groups.push_back({std::move(stacks), {}});
      }
      groups[found->second].members.push_back(index);
    }
  }
  for (const auto& [peers, of_peers] : by_peers) {
    if (std::get<0>(peers) != kProcWay) MarkSuspects(groups, of_peers);
  }
  const auto rank = [&report](const StackGroup& group) {
    const bool has_stack = HasStack(At(report, group.members.front()));
    const auto size = static_cast<int64_t>(group.members.size());
    return std::tuple(!group.suspect, !has_stack, group.suspect ? size : -size);
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&rank](const StackGroup& a, const StackGroup& b) { return rank(a) < rank(b); });
  return groups;
}

Movement CompareStacks(const StackReport& before, const StackReport& after) {
  std::map<std::pair<TaskId, int64_t>, const Stack*> places;
  for (const TaskStacks& task : before.tasks) {
    for (const ProcessStacks& process : task.processes) {
      if (HasStack(process)) {
        places[{task.task, process.pid}] = &before.stacks[MainStack(process)];
      }
    }
  }
  Movement movement;
  for (const TaskStacks& task : after.tasks) {
    for (const ProcessStacks& process : task.processes) {
      const auto found = places.find({task.task, process.pid});
      if (found == places.end() || !HasStack(process)) continue;
      ++movement.compared;
      if (*found->second == after.stacks[MainStack(process)]) continue;
      ++movement.moved;
      if (movement.tasks.empty() || movement.tasks.back() != task.task) {
        movement.tasks.push_back(task.task);
      }
    }
  }
  return movement;
}

std::string ProcessName(const StackReport& report, const ProcessIndex& index) {
  const TaskStacks& task = report.tasks[index.task];
  const auto shown = std::count_if(task.processes.begin(), task.processes.end(),
                                   [](const ProcessStacks& process) { return HasStack(process); });
  std::string name = task.task.ToString();
  if (shown > 1) absl::StrAppend(&name, "/", At(report, index).pid);
  return name;
}

std::string TopCall(const Stack& stack) {
  if (stack.frames.empty()) return "";
  const StackFrame& top = stack.frames.front();
  if (top.file.empty()) return top.function;
  const std::string file = top.file.substr(top.file.rfind('/') + 1);
  if (top.line == 0) return absl::StrCat(top.function, " (", file, ")");
  return absl::StrCat(top.function, " (", file, ":", top.line, ")");
}

std::optional<TaskId> SuspectTask(const StackReport& report,
                                  const std::vector<StackGroup>& groups) {
  std::optional<TaskId> suspect;
  for (const StackGroup& group : groups) {
    if (!group.suspect) continue;
    for (const ProcessIndex& member : group.members) {
      const TaskId& task = report.tasks[member.task].task;
      if (suspect && *suspect != task) return std::nullopt;
      suspect = task;
    }
  }
  return suspect;
}

std::string SuspectSentence(const StackReport& report, const std::vector<StackGroup>& groups) {
  if (groups.empty() || !groups.front().suspect) return "";
  const StackGroup& suspect = groups.front();
  std::string names;
  for (size_t i = 0; i < std::min(suspect.members.size(), kMostNames); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", ProcessName(report, suspect.members[i]));
  }
  if (suspect.members.size() > kMostNames) {
    absl::StrAppend(&names, " and ", suspect.members.size() - kMostNames, " more");
  }
  // The group that the others form: the largest with the same peers, so the first that is no
  // suspect and has as many members, or more if it is split by other threads.
  const Peers peers = PeersOf(report, suspect.members.front());
  std::string where;
  for (const StackGroup& group : groups) {
    if (group.suspect || PeersOf(report, group.members.front()) != peers) continue;
    where = TopCall(report.stacks[group.stacks.front()]);
    break;
  }
  const std::string top = TopCall(report.stacks[suspect.stacks.front()]);
  return absl::StrCat(names, suspect.members.size() == 1 ? " is in " : " are in ",
                      top.empty() ? "no Python code" : top, " while ", suspect.others,
                      " others are in ", where.empty() ? "no Python code" : where);
}

}  // namespace tony::core
