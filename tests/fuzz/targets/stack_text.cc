// The texts in which the stacks of processes arrive. The user's program may have written anything
// into the file that faulthandler writes to, and names its files and functions as it likes.
//
// Besides not crashing: what is parsed is within the limits; at most one thread is the main one;
// each index of the report is one of its stacks; each process is in one group at most; the report
// is within its limit; nothing that is shown steers a terminal.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "common/safe_text.h"
#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_parser.h"
#include "core/stacks/stack_report_builder.h"
#include "core/stacks/stack_text.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr std::array kWays = {"faulthandler", "py-spy", "eu-stack", "proc", "none"};
constexpr size_t kLimit = 20'000;

void CheckThreads(const std::vector<core::ParsedThread>& threads) {
  Require(threads.size() <= core::kMostThreads, "threads are bounded");
  Require(std::count_if(threads.begin(), threads.end(),
                        [](const auto& thread) { return thread.main; }) <= 1,
          "one thread is the main one");
  for (const core::ParsedThread& thread : threads) {
    Require(thread.stack.frames.size() <= core::kMostFrames, "frames are bounded");
    for (const core::StackFrame& frame : thread.stack.frames) {
      Require(frame.file.size() <= core::kMostNameBytes, "names of files are bounded");
      Require(frame.function.size() <= core::kMostNameBytes, "names of functions are bounded");
      Require(frame.function.find('\n') == std::string::npos, "a frame is of one line");
      Require(frame.line >= 0, "lines have numbers");
    }
  }
}

size_t SizeOf(const core::StackReport& report) {
  size_t bytes = 0;
  for (const core::Stack& stack : report.stacks) {
    for (const core::StackFrame& frame : stack.frames) {
      bytes += frame.file.size() + frame.function.size();
    }
  }
  return bytes;
}

void CheckReport(const core::StackReport& report, core::GroupBy by) {
  std::set<std::pair<int, int>> seen;
  for (const core::StackGroup& group : core::GroupStacks(report, by)) {
    Require(!group.members.empty() && !group.stacks.empty(), "a group has members and stacks");
    for (const int stack : group.stacks) {
      Require(stack >= 0 && stack < static_cast<int>(report.stacks.size()), "stacks are there");
    }
    for (const core::ProcessIndex& member : group.members) {
      Require(seen.emplace(member.task, member.process).second, "a process is in one group");
    }
  }
  const std::string shown = SafeLines(core::StackText(report, by));
  Require(shown.find('\x1b') == std::string::npos, "nothing steers a terminal");
}

}  // namespace

void FuzzStackText(std::string_view input) {
  InputReader reader(input);
  core::StackReportBuilder builder(0, kLimit);
  for (int task = 0; task < 3; ++task) {
    std::vector<core::ProcessDump> dumps;
    const auto processes = reader.Byte() % 4;
    for (int i = 0; i < processes; ++i) {
      core::ProcessDump dump;
      dump.pid = reader.Byte() % 8;
      dump.parent = reader.Byte() % 8;
      dump.way = kWays[reader.Byte() % kWays.size()];
      dump.program = "python3";
      dump.text = std::string(reader.Piece());
      CheckThreads(core::ParseStacks(dump.way, dump.text));
      dumps.push_back(std::move(dump));
    }
    builder.Add({{"worker", task}, "host", 1, "", {}}, dumps);
  }
  const std::string rest(reader.Rest());
  for (const char* const way : kWays) CheckThreads(core::ParseStacks(way, rest));
  const core::StackReport report = std::move(builder).Take();
  Require(SizeOf(report) <= kLimit, "a report is bounded");
  CheckReport(report, core::GroupBy::kMainThread);
  CheckReport(report, core::GroupBy::kAllThreads);
}

}  // namespace tony::fuzz
