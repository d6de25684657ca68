// Equal stacks are interned: a thousand ranks that wait in one allreduce cost one stack and a
// thousand numbers, which is what keeps a report of a large job small.
#include "core/stacks/stack_report_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/stacks/stack_parser.h"

namespace tony::core {
namespace {

/// Bytes of a process, a thread or a frame beside their texts: roughly those of their message.
constexpr size_t kOverhead = 16;

size_t SizeOf(const Stack& stack) {
  size_t bytes = kOverhead;
  for (const StackFrame& frame : stack.frames) {
    bytes += kOverhead + frame.file.size() + frame.function.size();
  }
  return bytes;
}

void AddSentence(std::string& text, const std::string& sentence) {
  absl::StrAppend(&text, text.empty() ? "" : "; ", sentence);
}

}  // namespace

bool StackReportBuilder::Spend(size_t bytes) {
  if (bytes > room_) return false;
  room_ -= bytes;
  return true;
}

// A process is kept with the threads for which there is room. The main thread is added first, since
// it is the one that counts.
bool StackReportBuilder::AddProcess(TaskStacks& task, const ProcessDump& dump) {
  ProcessStacks process{dump.pid, dump.inner_pid, dump.parent, dump.program,
                        dump.way, dump.trouble,   {}};
  if (!Spend(4 * kOverhead + dump.program.size() + dump.trouble.size())) return false;
  std::vector<ParsedThread> threads = ParseStacks(dump.way, dump.text);
  std::stable_partition(threads.begin(), threads.end(),
                        [](const ParsedThread& thread) { return thread.main; });
  size_t dropped = 0;
  for (ParsedThread& thread : threads) {
    const auto known = indices_.find(thread.stack);
    const size_t bytes =
        kOverhead + thread.name.size() + (known == indices_.end() ? SizeOf(thread.stack) : 0);
    if (!Spend(bytes)) {
      ++dropped;
      continue;
    }
    int index = static_cast<int>(report_.stacks.size());
    if (known != indices_.end()) {
      index = known->second;
    } else {
      report_.stacks.push_back(thread.stack);
      indices_.emplace(std::move(thread.stack), index);
    }
    process.threads.push_back({std::move(thread.name), index, thread.main});
  }
  if (dropped > 0) {
    AddSentence(process.trouble, absl::StrCat(dropped, " of its threads did not fit in"));
  }
  task.processes.push_back(std::move(process));
  return true;
}

void StackReportBuilder::Add(TaskStacks task, const std::vector<ProcessDump>& dumps) {
  size_t dropped = 0;
  for (const ProcessDump& dump : dumps) {
    if (!AddProcess(task, dump)) ++dropped;
  }
  if (dropped > 0) {
    AddSentence(task.trouble, absl::StrCat(dropped,
                                           " of its processes did not fit in; name the "
                                           "task (--task) to see them"));
  }
  report_.tasks.push_back(std::move(task));
}

StackReport StackReportBuilder::Take() && {
  std::stable_sort(report_.tasks.begin(), report_.tasks.end(),
                   [](const TaskStacks& a, const TaskStacks& b) { return a.task < b.task; });
  return std::move(report_);
}

}  // namespace tony::core
