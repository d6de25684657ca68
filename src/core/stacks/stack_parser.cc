// One function per format. Lines are cut out of the text without copying it, since a program may
// have made a line of a megabyte; only names within the limits are copied.
#include "core/stacks/stack_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tony::core {
namespace {

/// What faulthandler prints after a thread's name.
constexpr absl::string_view kCallOrder = " (most recent call first):";

std::string Begin(absl::string_view text) { return std::string(text.substr(0, kMostNameBytes)); }

/// The end of a path says more than its beginning.
std::string End(absl::string_view text) {
  return std::string(text.substr(text.size() - std::min(text.size(), kMostNameBytes)));
}

void AddFrame(std::vector<ParsedThread>& threads, StackFrame frame) {
  if (threads.empty()) return;
  Stack& stack = threads.back().stack;
  if (stack.frames.size() >= kMostFrames) {
    stack.cut = true;
  } else {
    stack.frames.push_back(std::move(frame));
  }
}

bool AddThread(std::vector<ParsedThread>& threads, absl::string_view name, bool main) {
  if (threads.size() >= kMostThreads) return false;
  threads.push_back({Begin(name), main, {}});
  return true;
}

/// A number of a line of source code; 0 if it is none.
int LineNumber(absl::string_view text) {
  int line = 0;
  return absl::SimpleAtoi(text, &line) && line > 0 ? line : 0;
}

/// `File "train.py", line 12 in load`. The name of a file may have quotes, so its end is looked for
/// from the back; the name of a function has none.
bool ParsePythonFrame(absl::string_view line, StackFrame& frame) {
  if (!absl::ConsumePrefix(&line, "File ")) return false;
  constexpr absl::string_view kBetween = ", line ";
  const size_t between = line.rfind(kBetween);
  if (between == absl::string_view::npos) return false;
  absl::string_view file = line.substr(0, between);
  absl::string_view rest = line.substr(between + kBetween.size());
  const size_t in = rest.find(" in ");
  if (in == absl::string_view::npos) return false;
  if (absl::ConsumePrefix(&file, "\"")) absl::ConsumeSuffix(&file, "\"");
  frame = {End(file), LineNumber(rest.substr(0, in)), Begin(rest.substr(in + 4))};
  return true;
}

// faulthandler goes through the interpreter's list of threads, to which new ones are added in
// front: the main thread comes last. If it stopped before (at its limit of threads it prints
// "..." in a line of its own), the thread that the signal has interrupted counts, which the kernel
// chooses to be the main one when it can.
std::vector<ParsedThread> ParseFaulthandler(absl::string_view text) {
  std::vector<ParsedThread> threads;
  std::vector<bool> current;
  bool complete = true;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    StackFrame frame;
    if (line == "...") {
      complete = false;
    } else if (absl::EndsWith(line, kCallOrder)) {
      line.remove_suffix(kCallOrder.size());
      const bool is_current = absl::ConsumePrefix(&line, "Current thread ");
      if (!is_current && !absl::ConsumePrefix(&line, "Thread ") && line != "Stack") continue;
      if (!AddThread(threads, line, false)) {
        complete = false;
        break;
      }
      current.push_back(is_current);
    } else if (!absl::ConsumePrefix(&line, "  ")) {
      continue;
    } else if (line == "...") {
      if (!threads.empty()) threads.back().stack.cut = true;
    } else if (ParsePythonFrame(line, frame)) {
      AddFrame(threads, std::move(frame));
    }
  }
  if (complete && !threads.empty()) {
    threads.back().main = true;
  } else {
    const auto found = std::find(current.begin(), current.end(), true);
    if (found != current.end()) threads[found - current.begin()].main = true;
  }
  return threads;
}

/// `    load (train.py:12)`, or `    load (libc.so.6)` for native code.
bool ParsePySpyFrame(absl::string_view line, StackFrame& frame) {
  if (!absl::ConsumePrefix(&line, "    ") || !absl::ConsumeSuffix(&line, ")")) return false;
  const size_t open = line.rfind(" (");
  if (open == absl::string_view::npos) return false;
  absl::string_view place = line.substr(open + 2);
  int number = 0;
  const size_t colon = place.rfind(':');
  if (colon != absl::string_view::npos) {
    number = LineNumber(place.substr(colon + 1));
    if (number > 0) place = place.substr(0, colon);
  }
  frame = {End(place), number, Begin(line.substr(0, open))};
  return true;
}

// `Thread 4711 (idle): "MainThread"`, with frames indented by four spaces.
std::vector<ParsedThread> ParsePySpy(absl::string_view text) {
  std::vector<ParsedThread> threads;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    StackFrame frame;
    if (ParsePySpyFrame(line, frame)) {
      AddFrame(threads, std::move(frame));
    } else if (absl::ConsumePrefix(&line, "Thread ")) {
      const bool main = absl::EndsWith(line, "\"MainThread\"") &&
                        std::none_of(threads.begin(), threads.end(),
                                     [](const ParsedThread& thread) { return thread.main; });
      if (!AddThread(threads, line, main)) break;
    }
  }
  return threads;
}

// `TID 4711:`, then `#0  0x00007f… clock_nanosleep`, perhaps with " - 1" for a return address. The
// main thread has the number of the process, and comes first.
std::vector<ParsedThread> ParseEuStack(absl::string_view text) {
  std::vector<ParsedThread> threads;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "TID ")) {
      absl::ConsumeSuffix(&line, ":");
      if (!AddThread(threads, line, threads.empty())) break;
    } else if (absl::ConsumePrefix(&line, "#")) {
      const size_t address = line.find("0x");
      if (address == absl::string_view::npos) continue;
      line.remove_prefix(address);
      const size_t space = line.find(' ');
      absl::string_view function =
          space == absl::string_view::npos ? absl::string_view() : line.substr(space + 1);
      absl::ConsumeSuffix(&function, " - 1");
      while (absl::ConsumePrefix(&function, " ")) {
      }
      AddFrame(threads, {"", 0, function.empty() ? "?" : Begin(function)});
    }
  }
  return threads;
}

// The lines of KernelWaitLine(). A thread has one frame, so that threads which wait at the same
// place have equal stacks.
std::vector<ParsedThread> ParseKernelWaits(absl::string_view text) {
  std::vector<ParsedThread> threads;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits('\t', 4));
    if (fields.size() != 5) continue;
    if (!AddThread(threads, absl::StrCat(fields[0], " (", fields[1].substr(0, 64), ")"),
                   threads.empty())) {
      break;
    }
    std::string what(fields[2].substr(0, 64));
    if (!fields[3].empty()) absl::StrAppend(&what, " in ", fields[3].substr(0, 64));
    if (!fields[4].empty()) absl::StrAppend(&what, " (", fields[4].substr(0, 64), ")");
    AddFrame(threads, {"", 0, std::move(what)});
  }
  return threads;
}

/// A field of KernelWaitLine(), which neither tabs nor line ends may split.
std::string Field(std::string text) {
  for (char& letter : text) {
    if (letter == '\t' || letter == '\n') letter = ' ';
  }
  return text;
}

}  // namespace

std::vector<ParsedThread> ParseStacks(const std::string& way, absl::string_view text) {
  if (way == "faulthandler") return ParseFaulthandler(text);
  if (way == "py-spy") return ParsePySpy(text);
  if (way == "eu-stack") return ParseEuStack(text);
  if (way == "proc") return ParseKernelWaits(text);
  return {};
}

std::string KernelWaitLine(const KernelWait& wait) {
  return absl::StrCat(wait.thread, "\t", Field(wait.name), "\t", Field(wait.state), "\t",
                      Field(wait.place), "\t", Field(wait.system_call), "\n");
}

}  // namespace tony::core
