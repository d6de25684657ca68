// Groups of equal stacks, the suspect, and what people read.
#include "core/stacks/stack_groups.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/stacks/stack_report_builder.h"
#include "core/stacks/stack_text.h"

namespace tony::core {
namespace {

constexpr size_t kRoom = 1 << 20;

/// faulthandler's text of a main thread with these calls of train.py, the innermost first, and one
/// other thread for each of `others`.
std::string Dump(const std::vector<std::string>& calls,
                 const std::vector<std::string>& others = {}) {
  static int address = 0;  // addresses differ between processes and must not matter
  std::string text;
  for (const std::string& other : others) {
    absl::StrAppend(&text, "Thread 0x", ++address, " (most recent call first):\n  File \"t.py\", ",
                    "line 1 in ", other, "\n\n");
  }
  absl::StrAppend(&text, "Current thread 0x", ++address, " (most recent call first):\n");
  for (const std::string& call : calls) {
    absl::StrAppend(&text, "  File \"/job/train.py\", line 5 in ", call, "\n");
  }
  return text;
}

ProcessDump Process(int64_t pid, const std::string& text, int64_t parent = 1) {
  return {pid, pid, parent, "python3", "faulthandler", text, ""};
}

/// A shell that waits for the program.
ProcessDump Shell(int64_t pid) {
  return {pid, pid, 1, "bash", "proc", "2\tbash\tsleeping\tdo_wait\twait4\n", ""};
}

class StackGroupsTest : public testing::Test {
 protected:
  void Add(int index, const std::vector<ProcessDump>& processes, const std::string& trouble = "") {
    builder_.Add({{"worker", index}, "node7", 1, trouble, {}}, processes);
  }
  /// Groups as "names: top call", suspects with a star.
  std::vector<std::string> Groups(GroupBy by) {
    report_ = std::move(builder_).Take();
    std::vector<std::string> lines;
    for (const StackGroup& group : GroupStacks(report_, by)) {
      std::string line = group.suspect ? "*" : "";
      for (const ProcessIndex& member : group.members) {
        absl::StrAppend(&line, line.size() > 1 ? " " : "", ProcessName(report_, member));
      }
      lines.push_back(absl::StrCat(line, ": ", TopCall(report_.stacks[group.stacks[0]])));
    }
    return lines;
  }
  std::string Suspect(GroupBy by = GroupBy::kMainThread) {
    return SuspectSentence(report_, GroupStacks(report_, by));
  }

  StackReportBuilder builder_{0, kRoom};
  StackReport report_;
};

using Lines = std::vector<std::string>;

TEST_F(StackGroupsTest, NamesTheRankThatTheOthersWaitFor) {
  for (int i = 3; i >= 0; --i) {
    Add(i, {Shell(10 + i),
            Process(20 + i, Dump({i == 1 ? "load_batch" : "all_reduce", "<module>"}), 10 + i)});
  }
  EXPECT_EQ(Groups(GroupBy::kMainThread),
            (Lines{"*worker:1: load_batch (train.py:5)",
                   "worker:0 worker:2 worker:3: all_reduce (train.py:5)"}));
  EXPECT_EQ(Suspect(),
            "worker:1 is in load_batch (train.py:5) while 3 others are in all_reduce (train.py:5)");
  EXPECT_EQ(report_.stacks.size(), 3u);  // two of Python's, and the shells'
}

TEST_F(StackGroupsTest, NameNobodyWithoutAMajority) {
  Add(0, {Process(20, Dump({"a"}))});
  Add(1, {Process(21, Dump({"b"}))});
  EXPECT_EQ(Groups(GroupBy::kMainThread),
            (Lines{"worker:0: a (train.py:5)", "worker:1: b (train.py:5)"}));
  EXPECT_EQ(Suspect(), "");
}

TEST_F(StackGroupsTest, HalfIsNoMajority) {
  for (int i = 0; i < 4; ++i) Add(i, {Process(20, Dump({i < 2 ? "a" : "b"}))});
  EXPECT_EQ(Groups(GroupBy::kMainThread).size(), 2u);
  EXPECT_EQ(Suspect(), "");
}

// Each rank has two helpers that wait for work: there are more helpers than ranks.
TEST_F(StackGroupsTest, HelpersOfTheRanksDoNotOutnumberThem) {
  for (int i = 0; i < 4; ++i) {
    Add(i, {Process(100 * i + 100, Dump({i == 2 ? "load" : "reduce", "main"})),
            Process(100 * i + 101, Dump({"next", "main"}), 100 * i + 100),
            Process(100 * i + 102, Dump({"next", "main"}), 100 * i + 100)});
  }
  const Lines groups = Groups(GroupBy::kMainThread);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0], "*worker:2/300: load (train.py:5)");
  EXPECT_TRUE(groups[1].ends_with("next (train.py:5)")) << groups[1];
  EXPECT_EQ(Suspect(),
            "worker:2/300 is in load (train.py:5) while 3 others are in reduce (train.py:5)");
}

TEST_F(StackGroupsTest, OtherThreadsCountIfWanted) {
  Add(0, {Process(20, Dump({"reduce"}, {"copy", "log"}))});
  Add(1, {Process(21, Dump({"reduce"}, {"log", "copy"}))});
  Add(2, {Process(22, Dump({"reduce"}, {"log"}))});
  Add(3, {Process(23, Dump({"load"}, {"log"}))});
  EXPECT_EQ(Groups(GroupBy::kAllThreads),
            (Lines{"*worker:3: load (train.py:5)", "worker:0 worker:1: reduce (train.py:5)",
                   "worker:2: reduce (train.py:5)"}));
  EXPECT_EQ(Suspect(GroupBy::kAllThreads),
            "worker:3 is in load (train.py:5) while 3 others are in reduce (train.py:5)");
  EXPECT_EQ(GroupStacks(report_, GroupBy::kMainThread).size(), 2u);
}

TEST_F(StackGroupsTest, ShellsAreShownIfThereIsNothingElse) {
  Add(0, {Shell(10)});
  Add(1, {Shell(11), Process(21, Dump({"f"}), 11)});
  EXPECT_EQ(Groups(GroupBy::kMainThread),
            (Lines{"worker:1: f (train.py:5)", "worker:0: sleeping in do_wait (wait4)"}));
  EXPECT_EQ(GroupStacks(report_, GroupBy::kAllThreads).size(), 2u);
  EXPECT_EQ(GroupStacks(report_, GroupBy::kAllThreads)[1].members.size(), 2u);
}

TEST_F(StackGroupsTest, ParentsInARingEnd) {
  Add(0, {Process(10, Dump({"f"}), 11), Process(11, Dump({"f"}), 10)});
  EXPECT_EQ(Groups(GroupBy::kMainThread).size(), 1u);
}

TEST_F(StackGroupsTest, TextSaysWhatCouldNotBeRead) {
  for (int i = 0; i < 3; ++i) Add(i, {Process(20 + i, Dump({"reduce", "<module>"}))});
  ProcessDump stopped{30, 30, 1, "python3", "proc", "30\tpython3\tstopped\t\t\n", "it is stopped"};
  Add(3, {stopped});
  Add(4, {}, "its executor has not answered");
  report_ = std::move(builder_).Take();
  EXPECT_EQ(
      StackText(report_, GroupBy::kMainThread),
      "3 processes: worker:0 (pid 20 on node7, python3), worker:1 (pid 21 on node7, python3), "
      "worker:2 (pid 22 on node7, python3)\n"
      "    reduce    /job/train.py:5\n"
      "    <module>  /job/train.py:5\n"
      "\n"
      "worker:3 (pid 30 on node7, python3) – no stack, only where the kernel holds it\n"
      "    stopped\n"
      "\n"
      "what could not be read:\n"
      "  worker:3 (pid 30, python3): it is stopped\n"
      "  worker:4: its executor has not answered\n");
}

TEST_F(StackGroupsTest, ComparesTwoReports) {
  Add(0, {Process(20, Dump({"reduce"}))});
  Add(1, {Process(21, Dump({"load"})), Shell(9)});
  Add(2, {Process(22, Dump({"load"}))});
  const StackReport before = std::exchange(builder_, StackReportBuilder{0, kRoom}).Take();
  Add(0, {Process(20, Dump({"reduce"}, {"log"}))});
  Add(1, {Process(21, Dump({"step"})), Shell(9)});
  Add(2, {Process(23, Dump({"load"}))});  // another process
  const Movement movement = CompareStacks(before, std::move(builder_).Take());
  EXPECT_EQ(movement.compared, 2u);
  EXPECT_EQ(movement.moved, 1u);
  EXPECT_EQ(movement.tasks, std::vector<TaskId>{TaskId("worker", 1)});
}

TEST_F(StackGroupsTest, TheSuspectIsATaskIfItIsOneOnly) {
  const auto suspect = [this] {
    report_ = std::exchange(builder_, StackReportBuilder{0, kRoom}).Take();
    return SuspectTask(report_, GroupStacks(report_, GroupBy::kMainThread));
  };
  for (int i = 0; i < 3; ++i) Add(i, {Process(20 + i, Dump({"reduce"}))});
  EXPECT_EQ(suspect(), std::nullopt);
  for (int i = 0; i < 3; ++i) Add(i, {Process(20 + i, Dump({"reduce"}))});
  Add(3, {Process(30, Dump({"load"})), Process(31, Dump({"read"}))});
  EXPECT_EQ(suspect(), TaskId("worker", 3));
  for (int i = 0; i < 5; ++i) Add(i, {Process(20 + i, Dump({"reduce"}))});
  Add(5, {Process(30, Dump({"load"}))});
  Add(6, {Process(31, Dump({"load"}))});
  EXPECT_EQ(suspect(), std::nullopt) << "two tasks";
}

TEST_F(StackGroupsTest, TextShowsAllThreadsIfWanted) {
  Add(0, {Process(20,
                  "Thread 0x2 (most recent call first):\n  File \"t.py\", line 1 in copy\n\n"
                  "Current thread 0x1 (most recent call first):\n")});
  report_ = std::move(builder_).Take();
  EXPECT_EQ(StackText(report_, GroupBy::kAllThreads),
            "worker:0 (pid 20 on node7, python3)\n"
            "  main thread 0x1\n"
            "    (no Python code)\n"
            "  thread 0x2\n"
            "    copy  t.py:1\n");
  EXPECT_EQ(StackText({}, GroupBy::kMainThread), "no stack could be read\n");
}

TEST(StackReportTest, OfAThousandRanksStaysWithinItsLimit) {
  StackReportBuilder builder(0, 3 << 20);
  for (int i = 0; i < 1000; ++i) {
    builder.Add({{"worker", i}, "node", 1, "", {}}, {Process(i, Dump({"reduce", "<module>"}))});
  }
  const StackReport report = std::move(builder).Take();
  EXPECT_EQ(report.stacks.size(), 1u);
  ASSERT_EQ(report.tasks.size(), 1000u);
  EXPECT_EQ(report.tasks[10].task.index, 10);
  EXPECT_EQ(report.tasks[999].trouble, "");
}

TEST(StackReportTest, LeavesOutWhatDoesNotFit) {
  StackReportBuilder builder(0, 1000);
  builder.Add({{"worker", 0}, "node", 1, "", {}},
              {Process(1, Dump({"f"}, {std::string(500, 'x'), std::string(501, 'y')})),
               Process(2, Dump({"f"})), Process(3, Dump({"f"})), Process(4, Dump({"f"})),
               Process(5, Dump({"f"})), Process(6, Dump({"f"}))});
  const StackReport report = std::move(builder).Take();
  const TaskStacks& task = report.tasks[0];
  ASSERT_GE(task.processes.size(), 2u);
  EXPECT_LT(task.processes.size(), 6u);
  EXPECT_EQ(task.processes[0].trouble, "1 of its threads did not fit in");
  EXPECT_TRUE(task.processes[0].threads[0].main);
  EXPECT_EQ(task.trouble, absl::StrCat(6 - task.processes.size(),
                                       " of its processes did not fit in; name the task (--task) "
                                       "to see them"));
}

}  // namespace
}  // namespace tony::core
