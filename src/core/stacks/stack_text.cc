// The innermost call stands first, as faulthandler prints it and as it is looked for.
#include "core/stacks/stack_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

/// Members of a group that are listed one by one.
constexpr size_t kMostMembers = 64;
/// Width of the names of functions that are padded, so that places stand below each other.
constexpr size_t kMostPadding = 40;
/// From this length on further stacks are left out: many threads may share stacks, which are small
/// in a report and long in a text.
constexpr size_t kMostTextBytes = 4 << 20;

const ProcessStacks& At(const StackReport& report, const ProcessIndex& index) {
  return report.tasks[index.task].processes[index.process];
}

std::string Place(const StackFrame& frame) {
  if (frame.file.empty()) return "";
  return frame.line == 0 ? frame.file : absl::StrCat(frame.file, ":", frame.line);
}

void AddStack(std::string& text, const Stack& stack) {
  if (stack.frames.empty()) absl::StrAppend(&text, "    (no Python code)\n");
  size_t width = 0;
  for (const StackFrame& frame : stack.frames) {
    width = std::max(width, std::min(frame.function.size(), kMostPadding));
  }
  for (const StackFrame& frame : stack.frames) {
    const std::string place = Place(frame);
    const size_t padding = width - std::min(width, frame.function.size());
    absl::StrAppend(&text, "    ", frame.function);
    if (!place.empty()) absl::StrAppend(&text, std::string(padding + 2, ' '), place);
    text += '\n';
  }
  if (stack.cut) absl::StrAppend(&text, "    …\n");
}

/// "worker:1 (pid 4711 on node7, python3)".
std::string MemberText(const StackReport& report, const ProcessIndex& index) {
  const TaskStacks& task = report.tasks[index.task];
  const ProcessStacks& process = At(report, index);
  std::string text = absl::StrCat(task.task.ToString(), " (pid ", process.pid);
  if (!task.host.empty()) absl::StrAppend(&text, " on ", task.host);
  return absl::StrCat(text, ", ", process.program, ")");
}

std::string Heading(const StackReport& report, const StackGroup& group) {
  const size_t size = group.members.size();
  std::string text;
  if (size > 1) absl::StrAppend(&text, size, " processes: ");
  for (size_t i = 0; i < std::min(size, kMostMembers); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", MemberText(report, group.members[i]));
  }
  if (size > kMostMembers) absl::StrAppend(&text, " and ", size - kMostMembers, " more");
  const std::string& way = At(report, group.members.front()).way;
  if (way == "proc") absl::StrAppend(&text, " – no stack, only where the kernel holds it");
  if (way == "eu-stack" || way == "py-spy") absl::StrAppend(&text, " – by ", way);
  if (group.suspect) absl::StrAppend(&text, " – the suspect");
  return text;
}

/// With GroupBy::kAllThreads: each thread of one member, under its name. Names differ between the
/// members of a group, so those of the first one stand for all.
void AddThreads(std::string& text, const StackReport& report, const ProcessStacks& process) {
  std::vector<ThreadStack> threads = process.threads;
  std::stable_partition(threads.begin(), threads.end(),
                        [](const ThreadStack& thread) { return thread.main; });
  for (const ThreadStack& thread : threads) {
    if (text.size() > kMostTextBytes) return;
    absl::StrAppend(&text, "  ", thread.main ? "main thread " : "thread ", thread.name, "\n");
    AddStack(text, report.stacks[thread.stack]);
  }
}

void AddTroubles(std::string& text, const StackReport& report) {
  std::string lines;
  for (const TaskStacks& task : report.tasks) {
    if (!task.trouble.empty()) {
      absl::StrAppend(&lines, "  ", task.task.ToString(), ": ", task.trouble, "\n");
    }
    for (const ProcessStacks& process : task.processes) {
      if (process.trouble.empty()) continue;
      absl::StrAppend(&lines, "  ", task.task.ToString(), " (pid ", process.pid, ", ",
                      process.program, "): ", process.trouble, "\n");
    }
  }
  if (!lines.empty()) absl::StrAppend(&text, "\nwhat could not be read:\n", lines);
}

}  // namespace

std::string StackText(const StackReport& report, GroupBy by) {
  const std::vector<StackGroup> groups = GroupStacks(report, by);
  std::string text;
  const std::string suspect = SuspectSentence(report, groups);
  if (!suspect.empty()) absl::StrAppend(&text, suspect, "\n");
  for (const StackGroup& group : groups) {
    if (text.size() > kMostTextBytes) {
      absl::StrAppend(&text, "\nfurther stacks are left out here; --json has them\n");
      break;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", Heading(report, group), "\n");
    if (by == GroupBy::kAllThreads) {
      AddThreads(text, report, At(report, group.members.front()));
    } else {
      AddStack(text, report.stacks[group.stacks.front()]);
    }
  }
  if (groups.empty()) absl::StrAppend(&text, "no stack could be read\n");
  AddTroubles(text, report);
  return text;
}

}  // namespace tony::core
