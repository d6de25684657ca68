// Tracebacks among a program's lines.
#include "core/judge/python_traceback.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace tony::core {
namespace {

/// "first-last: exceptions", e.g. "2-5: 5", or "none".
std::string Find(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const auto traceback = LastPythonTraceback(lines);
  if (!traceback) return "none";
  std::string found =
      std::to_string(traceback->first) + "-" + std::to_string(traceback->last) + ":";
  for (size_t line : traceback->exceptions) found += " " + std::to_string(line);
  return found;
}

constexpr char kChain[] = "During handling of the above exception, another exception occurred:";
constexpr char kCause[] = "The above exception was the direct cause of the following exception:";

std::string One(const std::string& exception, const std::string& prefix = "") {
  return prefix + "Traceback (most recent call last):\n" + prefix +
         "  File \"train.py\", line 3, in <module>\n" + prefix + "    main()\n" + prefix +
         exception;
}

TEST(PythonTracebackTest, IsFoundAmongOtherLines) {
  struct Row {
    const char* what;
    std::string text;
    const char* found;
  };
  const std::vector<Row> rows = {
      {"no line", "", "none"},
      {"no traceback", "epoch 1\nError: bad", "none"},
      {"one", "epoch 1\n" + One("ValueError: bad") + "\nbye", "1-4: 4"},
      {"an exception without a message", One("KeyboardInterrupt"), "0-3: 3"},
      {"an exception of a library", One("torch.cuda.OutOfMemoryError: CUDA"), "0-3: 3"},
      {"an exception with an empty message", One("AssertionError:"), "0-3: 3"},
      {"the last of two", One("ValueError: 1") + "\nretrying\n" + One("OSError: 2"), "5-8: 8"},
      {"a chain", One("ValueError: 1") + "\n\n" + kChain + "\n\n" + One("OSError: 2"),
       "0-10: 3 10"},
      {"a cause", One("ValueError: 1") + "\n\n" + kCause + "\n\n" + One("OSError: 2"),
       "0-10: 3 10"},
      {"a chain after another traceback",
       One("A.b: 0") + "\n" + One("ValueError: 1") + "\n" + kChain + "\n" + One("OSError: 2"),
       "4-12: 7 12"},
      {"cut off", "Traceback (most recent call last):\n  File \"a.py\", line 1", "0-1:"},
      {"without its head", "  File \"a.py\", line 1\nValueError: bad", "none"},
      {"ranks", "x\n" + One("ValueError: bad", "[rank0]: ") + "\n[rank1]: y", "1-4: 4"},
      {"mpirun", One("ValueError: bad", "[1,0]<stderr>:"), "0-3: 3"},
  };
  for (const Row& row : rows) EXPECT_EQ(Find(row.text), row.found) << row.what;
}

TEST(PythonTracebackTest, TheLastExceptionIsToldWithoutAPrefix) {
  const auto last = [](const std::string& text) {
    return LastException(absl::StrSplit(text, '\n'));
  };
  EXPECT_EQ(last(One("ValueError: 1") + "\n\n" + kChain + "\n\n" + One("OSError: 2") + "\nbye"),
            "OSError: 2");
  EXPECT_EQ(last(One("ValueError: bad", "[rank0]: ") + "\n[rank1]: y"), "ValueError: bad");
  EXPECT_EQ(last("Traceback (most recent call last):\n  File \"a.py\", line 1"), "");
  EXPECT_EQ(last("ValueError: without a traceback"), "");
}

TEST(PythonTracebackTest, LinesOfTheProgramInBetweenAreNotItsException) {
  EXPECT_EQ(Find("Traceback (most recent call last):\n"
                 "step 5, loss 3.2\n"
                 "  File \"a.py\", line 1\n"
                 "WARNING: slow\n"
                 "INFO:root:epoch\n"
                 "5: five\n"
                 "\n"
                 "[rank1]: OSError: of another process\n"
                 "ValueError: bad"),
            "0-8: 8");
}

TEST(PythonTracebackTest, AnExceptionGroupIsOneTraceback) {
  EXPECT_EQ(Find("  + Exception Group Traceback (most recent call last):\n"
                 "  |   File \"a.py\", line 1\n"
                 "  | ExceptionGroup: two (2 sub-exceptions)\n"
                 "  +-+---------------- 1 ----------------\n"
                 "    | Traceback (most recent call last):\n"
                 "    |   File \"a.py\", line 2\n"
                 "    | ValueError: bad\n"
                 "    +------------------------------------"),
            "0-7:");
}

}  // namespace
}  // namespace tony::core
