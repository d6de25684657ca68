// The stacks of a job's processes at one moment, as clients get them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/task_id.h"

namespace tony::core {

/// One call. The texts come from the user's program and may be any bytes but a line end.
struct StackFrame {
  std::string file;  ///< empty: not known, such as in the kernel
  int line = 0;      ///< 0: not known
  std::string function;

  auto operator<=>(const StackFrame&) const = default;
};

/// The calls of one thread.
struct Stack {
  std::vector<StackFrame> frames;  ///< the innermost call first
  bool cut = false;                ///< outer calls are missing

  auto operator<=>(const Stack&) const = default;
};

/// One thread of a process.
struct ThreadStack {
  std::string name;   ///< as the way of reading names it: "Thread 0x00007f…"
  int stack = 0;      ///< index in StackReport::stacks
  bool main = false;  ///< the process's main thread

  bool operator==(const ThreadStack&) const = default;
};

/// One process. `way` says how its threads were read: "faulthandler", "py-spy", "eu-stack", or
/// "proc" for what /proc says, which is no stack but the place in the kernel where a thread waits.
struct ProcessStacks {
  int64_t pid = 0;        ///< on its host
  int64_t inner_pid = 0;  ///< as the process itself sees it
  int64_t parent = 0;     ///< `pid` of its parent
  std::string program;
  std::string way;
  std::string trouble;  ///< why there is no stack, or not the whole one; empty: there is
  std::vector<ThreadStack> threads;

  bool operator==(const ProcessStacks&) const = default;
};

/// One task: its processes, a parent before its children.
struct TaskStacks {
  TaskId task;
  std::string host;
  int attempt = 0;
  std::string trouble;  ///< why processes are missing; empty: none is
  std::vector<ProcessStacks> processes;

  bool operator==(const TaskStacks&) const = default;
};

/// The stacks of all tasks. Each distinct stack is stored once, so equal stacks have equal indices.
struct StackReport {
  int64_t unix_millis = 0;  ///< when they were taken
  std::vector<Stack> stacks;
  std::vector<TaskStacks> tasks;

  bool operator==(const StackReport&) const = default;
};

/// A process as its executor has read it, not parsed yet; see ProcessStacks.
struct ProcessDump {
  int64_t pid = 0;
  int64_t inner_pid = 0;
  int64_t parent = 0;
  std::string program;
  std::string way;
  std::string text;
  std::string trouble;
};

}  // namespace tony::core
