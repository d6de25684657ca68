// The texts of the ways in which stacks are read, as the tools print them.
#include "core/stacks/stack_parser.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

/// A thread in one line: "*Thread 1: load (train.py:12) < <module> (train.py:20) …", with a star
/// for the main thread and dots for a cut stack.
std::string Line(const ParsedThread& thread) {
  std::string line = absl::StrCat(thread.main ? "*" : "", thread.name, ":");
  const char* between = " ";
  for (const StackFrame& frame : thread.stack.frames) {
    absl::StrAppend(&line, between, frame.function, " (", frame.file, ":", frame.line, ")");
    between = " < ";
  }
  if (thread.stack.cut) absl::StrAppend(&line, " …");
  return line;
}

std::vector<std::string> Parse(const std::string& way, const std::string& text) {
  std::vector<std::string> lines;
  for (const ParsedThread& thread : ParseStacks(way, text)) lines.push_back(Line(thread));
  return lines;
}

using Lines = std::vector<std::string>;

// Python 3.11 with a thread in lock.acquire().
constexpr char kTwoThreads[] = R"(Thread 0x00007f1c2e7fc6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "train.py", line 4 in helper

Current thread 0x00007f1c2f3d8040 (most recent call first):
  File "train.py", line 12 in load_batch
  File "train.py", line 20 in <module>
)";

TEST(FaulthandlerTextTest, HasTheMainThreadLast) {
  EXPECT_EQ(Parse("faulthandler", kTwoThreads),
            (Lines{"0x00007f1c2e7fc6c0: wait (/usr/lib/python3.11/threading.py:320) < helper "
                   "(train.py:4)",
                   "*0x00007f1c2f3d8040: load_batch (train.py:12) < <module> (train.py:20)"}));
}

TEST(FaulthandlerTextTest, MarksWhatIsCut) {
  EXPECT_EQ(Parse("faulthandler",
                  "Current thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n"
                  "  ...\n\nThread 0x2 (most recent call first):\n  <no Python frame>\n...\n"),
            (Lines{"*0x1: f (a.py:1) …", "0x2:"}));
}

TEST(FaulthandlerTextTest, ReadsNamesOfNewerVersions) {
  EXPECT_EQ(Parse("faulthandler",
                  "Current thread 0x1 [MainThread] (most recent call first):\n"
                  "  Garbage-collecting\n  File \"a\", line 12 in b\", line 3 in f\n"),
            (Lines{"*0x1 [MainThread]: f (a\", line 12 in b:3)"}));
}

TEST(FaulthandlerTextTest, SkipsWhatItDoesNotUnderstand) {
  EXPECT_EQ(Parse("faulthandler", std::string("\x1b[31m\xff\0junk\n  File \"x\", line 1 in y\n"
                                              "Thread (most recent call first):\n"
                                              "  File \"a.py\", line x in f\n  File nonsense\n",
                                              103)),
            (Lines{}));
  EXPECT_EQ(Parse("faulthandler",
                  "Thread 0x1 (most recent call first):\n"
                  "  File \"a.py\", line x in f\n  File nonsense\n"
                  "  File ???, line ??? in ???\n"),
            (Lines{"*0x1: f (a.py:0) < ??? (???:0)"}));
}

TEST(FaulthandlerTextTest, IsBounded) {
  std::string text = "Current thread 0x1 (most recent call first):\n";
  const std::string name(1 << 20, 'x');
  absl::StrAppend(&text, "  File \"", name, "end\", line 7 in ", name, "\n");
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "  File \"a\", line 1 in f\n");
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "Thread 0x2 (most recent call first):\n");
  const std::vector<ParsedThread> threads = ParseStacks("faulthandler", text);
  ASSERT_EQ(threads.size(), kMostThreads);
  EXPECT_TRUE(threads[0].main);
  EXPECT_TRUE(threads[0].stack.cut);
  ASSERT_EQ(threads[0].stack.frames.size(), kMostFrames);
  EXPECT_EQ(threads[0].stack.frames[0].file.size(), kMostNameBytes);
  EXPECT_TRUE(threads[0].stack.frames[0].file.ends_with("end"));
  EXPECT_EQ(threads[0].stack.frames[0].line, 7);
  EXPECT_EQ(threads[0].stack.frames[0].function.size(), kMostNameBytes);
}

TEST(PySpyTextTest, ReadsPythonAndNativeFrames) {
  EXPECT_EQ(Parse("py-spy",
                  "Process 7: python3 a.py\nPython v3.11.2 (/usr/bin/python3.11)\n\n"
                  "Thread 7 (idle): \"MainThread\"\n    clock_nanosleep (libc.so.6)\n"
                  "    <lambda> (a (1).py:3)\nThread 8 (active): \"MainThread\"\n"),
            (Lines{"*7 (idle): \"MainThread\": clock_nanosleep (libc.so.6:0) < <lambda> (a "
                   "(1).py:3)",
                   "8 (active): \"MainThread\":"}));
}

TEST(EuStackTextTest, ReadsFunctions) {
  EXPECT_EQ(Parse("eu-stack",
                  "PID 7 - process\nTID 7:\n#0  0x00007f12 clock_nanosleep@@GLIBC_2.17\n"
                  "#1  0x00007f13 main - 1\n#2  0x00007f14\nTID 8:\n"),
            (Lines{"*7: clock_nanosleep@@GLIBC_2.17 (:0) < main (:0) < ? (:0)", "8:"}));
}

TEST(KernelWaitTextTest, ReadsWhatItWrote) {
  const std::string text = KernelWaitLine({7, "py\tthon\n", "sleeping", "futex_do_wait", "futex"}) +
                           KernelWaitLine({8, "worker", "running", "", ""});
  EXPECT_EQ(Parse("proc", text), (Lines{"*7 (py thon ): sleeping in futex_do_wait (futex) (:0)",
                                        "8 (worker): running (:0)"}));
}

TEST(StackTextsTest, AreOfKnownWays) { EXPECT_EQ(Parse("magic", kTwoThreads), Lines{}); }

}  // namespace
}  // namespace tony::core
