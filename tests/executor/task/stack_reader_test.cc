// Stacks of real processes: Python's through the real hook, those of others through /proc, and what
// a program may do to hinder the reader.
#include "executor/task/stack_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_report_builder.h"
#include "executor/setup/collective_package.h"
#include "os/containment/keeper.h"
#include "os/processes/own_program.h"
#include "os/processes/process_status.h"
#include "os/processes/subprocess.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Longer than any reading takes in which all processes answer.
constexpr std::chrono::seconds kLong{20};
constexpr std::chrono::milliseconds kShort{200};

/// The beginning of every Python program here: it tells its number when it is where it is to be
/// read.
constexpr char kBegin[] = R"(
import ctypes, faulthandler, os, signal, sys, threading, time
def ready(): os.write(1, b"%d\n" % os.getpid())
)";
constexpr char kWaits[] = R"(
def load_batch():
    ready()
    while True: time.sleep(1000)
)";

void Write(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

class StackReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::HasPython()) GTEST_SKIP() << "there is no Python";
    const auto package = FindStacksPackage(os::OwnProgram().value());
    ASSERT_TRUE(package.ok()) << package.status();
    environment_ = {"PATH=/usr/local/bin:/usr/bin:/bin", absl::StrCat("PYTHONPATH=", *package),
                    absl::StrCat("TONY_STACKS_DIR=", folder_.path()),
                    absl::StrCat("TONY_STACKS_SIGNAL=", kStacksSignal)};
  }
  void TearDown() override {
    for (os::Subprocess& child : children_) {
      child.SignalSession(SIGKILL);
      EXPECT_TRUE(os::WaitReadable(child.pidfd()));
      child.TryWait();
    }
  }

  /// Starts a program and waits for its word that it is ready; its number as it sees it.
  pid_t Start(std::vector<std::string> arguments) {
    os::SubprocessRequest request;
    request.arguments = std::move(arguments);
    request.environment = environment_;
    request.stdout_fd = output_.write_fd();
    request.stderr_fd = STDERR_FILENO;
    auto child = os::Subprocess::Start(request);
    EXPECT_TRUE(child.ok()) << child.status();
    if (!child.ok()) return 0;
    children_.push_back(*std::move(child));
    EXPECT_GT(output_.ReadNumber(), 0);
    return children_.back().pid();
  }
  pid_t StartPython(const std::string& script, const std::string& option = "-B") {
    return Start({"/usr/bin/python3", option, "-c", absl::StrCat(kBegin, kWaits, script)});
  }

  std::vector<core::ProcessDump> Read(const std::vector<pid_t>& processes,
                                      Duration limit = kLong) const {
    return ReadStacks({processes, folder_.path(), {}, limit, 1 << 20});
  }
  core::ProcessDump ReadOne(pid_t pid, Duration limit = kLong) const {
    const std::vector<core::ProcessDump> dumps = Read({pid}, limit);
    EXPECT_EQ(dumps.size(), 1u);
    return dumps.empty() ? core::ProcessDump{} : dumps[0];
  }
  /// "way: functions of the main thread, the innermost first".
  static std::string Line(const core::ProcessDump& dump) {
    core::StackReportBuilder builder(0, 1 << 20);
    builder.Add({{"worker", 0}, "", 1, "", {}}, {dump});
    const core::StackReport report = std::move(builder).Take();
    std::string line = absl::StrCat(dump.way, ":");
    for (const core::ThreadStack& thread : report.tasks[0].processes[0].threads) {
      if (!thread.main) continue;
      for (const core::StackFrame& frame : report.stacks[thread.stack].frames) {
        // It may still be on its way from there to where it waits.
        if (frame.function != "ready") absl::StrAppend(&line, " ", frame.function);
      }
    }
    return line;
  }
  static size_t Threads(const core::ProcessDump& dump) {
    core::StackReportBuilder builder(0, 1 << 20);
    builder.Add({{"worker", 0}, "", 1, "", {}}, {dump});
    return std::move(builder).Take().tasks[0].processes[0].threads.size();
  }
  std::string FileOf(pid_t pid) const { return folder_ / absl::StrCat(pid, ".stacks"); }

  os::TemporaryFolder folder_;
  os::LinePipe output_;
  std::vector<std::string> environment_;
  std::vector<os::Subprocess> children_;
};

TEST_F(StackReaderTest, ReadsAllThreadsOfAPythonProcess) {
  const pid_t pid = StartPython(R"(
lock = threading.Lock(); lock.acquire(); begun = threading.Event()
def helper():
    begun.set(); lock.acquire()
threading.Thread(target=helper, daemon=True).start(); begun.wait()
load_batch()
)");
  for (int i = 0; i < 3; ++i) {  // each reading takes what is new
    const core::ProcessDump dump = ReadOne(pid);
    EXPECT_EQ(Line(dump), "faulthandler: load_batch <module>") << dump.text;
    EXPECT_EQ(Threads(dump), 2u) << dump.text;
    EXPECT_EQ(dump.trouble, "");
    EXPECT_EQ(dump.inner_pid, pid);
    EXPECT_EQ(dump.parent, ::getpid());
    EXPECT_THAT(dump.program, HasSubstr("python3"));
  }
}

TEST_F(StackReaderTest, ReadsAProcessThatHoldsTheLockOfTheInterpreter) {
  const pid_t pid = StartPython(R"(
read_end, write_end = os.pipe()
def native():
    ready(); ctypes.PyDLL(None).read(read_end, ctypes.create_string_buffer(1), 1)
native()
)");
  EXPECT_EQ(Line(ReadOne(pid)), "faulthandler: native <module>");
}

TEST_F(StackReaderTest, ReadsManyProcessesTogether) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 64; ++i) processes.push_back(StartPython("load_batch()"));
  const std::vector<core::ProcessDump> dumps = Read(processes);
  ASSERT_EQ(dumps.size(), 64u);
  for (const core::ProcessDump& dump : dumps) {
    EXPECT_EQ(Line(dump), "faulthandler: load_batch <module>") << dump.trouble;
  }
}

TEST_F(StackReaderTest, ReadsChildrenOfAFork) {
  const pid_t pid = StartPython(R"(
def parent():
    ready()
    while True: time.sleep(1000)
def child():
    parent()
child() if os.fork() == 0 else parent()
)");
  // The child says that it is ready too; which of both came first does not matter.
  EXPECT_GT(output_.ReadNumber(), 0);
  pid_t child = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    const pid_t found = std::atoi(each.path().filename().c_str());
    if (found != pid) child = found;
  }
  ASSERT_GT(child, 0);
  const std::vector<core::ProcessDump> dumps = Read({pid, child});
  ASSERT_EQ(dumps.size(), 2u);
  EXPECT_EQ(Line(dumps[0]), "faulthandler: parent <module>");
  EXPECT_EQ(Line(dumps[1]), "faulthandler: parent child <module>");
  EXPECT_EQ(dumps[1].parent, pid);
}

TEST_F(StackReaderTest, SendsNoSignalToPythonWithoutTheHook) {
  for (const char* const option : {"-I", "-E", "-S"}) {
    const pid_t pid = StartPython("load_batch()", option);
    const core::ProcessDump dump = ReadOne(pid);
    EXPECT_EQ(dump.way, "proc") << option;
    EXPECT_THAT(dump.trouble, HasSubstr("-I, -E or -S"));
    EXPECT_TRUE(os::IsAlive(pid));
  }
}

TEST_F(StackReaderTest, SendsNoSignalIfTheProgramHasTakenTheHandlerAway) {
  for (const char* const away : {"faulthandler.unregister(40)", "signal.signal(40, signal.SIG_DFL)",
                                 "signal.signal(40, signal.SIG_IGN)"}) {
    const pid_t pid = StartPython(absl::StrCat(away, "\nload_batch()"));
    EXPECT_EQ(ReadOne(pid).way, "proc") << away;
    EXPECT_TRUE(os::IsAlive(pid)) << away;
  }
}

TEST_F(StackReaderTest, ReadsTheNextProgramOfAProcessFromProc) {
  const pid_t pid =
      StartPython("os.execv('/bin/bash', ['bash', '-c', 'echo $$; sleep 1000 & wait'])");
  const core::ProcessDump dump = ReadOne(pid);
  EXPECT_EQ(dump.way, "proc");
  EXPECT_EQ(dump.program, "bash");
  EXPECT_EQ(dump.trouble, "");
  EXPECT_TRUE(os::IsAlive(pid));
}

TEST_F(StackReaderTest, ReadsANativeProgramFromProc) {
  const pid_t pid = Start({"/bin/bash", "-c", "echo $$; exec sleep 1000"});
  // The exec comes after the word.
  ASSERT_TRUE(os::WaitForState(pid, 'S'));
  // The exec comes after the word.
  ASSERT_TRUE(os::WaitForState(pid, 'S'));
  const core::ProcessDump dump = ReadOne(pid);
  EXPECT_EQ(dump.way, "proc");
  EXPECT_THAT(Line(dump), HasSubstr("sleeping"));
  EXPECT_TRUE(os::IsAlive(pid));
}

TEST_F(StackReaderTest, SaysThatAProcessIsStopped) {
  const pid_t pid = StartPython("load_batch()");
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  ASSERT_TRUE(os::WaitForState(pid, 'T'));
  const core::ProcessDump dump = ReadOne(pid);
  EXPECT_EQ(dump.trouble, "it is stopped (SIGSTOP)");
  EXPECT_THAT(Line(dump), HasSubstr("proc: stopped"));
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  ASSERT_TRUE(os::WaitForState(pid, 'S'));
  EXPECT_EQ(Line(ReadOne(pid)), "faulthandler: load_batch <module>");
}

TEST_F(StackReaderTest, SaysThatAProcessDoesNotAnswer) {
  const pid_t pid = StartPython("signal.pthread_sigmask(signal.SIG_BLOCK, [40])\nload_batch()");
  const core::ProcessDump dump = ReadOne(pid, kShort);
  EXPECT_EQ(dump.way, "proc");
  EXPECT_THAT(dump.trouble, HasSubstr("it did not answer the signal in time, it is "));
  EXPECT_TRUE(os::IsAlive(pid));
}

// The handler would write into whatever has the number of its file.
TEST_F(StackReaderTest, SendsNoSignalIfTheProgramHasClosedTheFile) {
  const pid_t pid =
      StartPython(absl::StrCat(R"(
os.closerange(3, 100)
for i in range(40): os.open(")",
                               folder_ / "data", R"(", os.O_WRONLY | os.O_CREAT, 0o600)
load_batch()
)"));
  EXPECT_THAT(ReadOne(pid).trouble, HasSubstr("it has closed it"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "data"), 0u);
  EXPECT_TRUE(os::IsAlive(pid));
}

TEST_F(StackReaderTest, ReadsPlainFilesOnly) {
  const pid_t pid = StartPython("load_batch()");
  const std::string file = FileOf(pid);
  const auto refuses = [&](const std::string& what) {
    EXPECT_THAT(ReadOne(pid).trouble, HasSubstr("the file for its stacks is gone")) << what;
    std::filesystem::remove_all(file);
  };
  std::filesystem::rename(file, folder_ / "aside");
  refuses("nothing");
  std::filesystem::create_symlink(folder_ / "aside", file);
  refuses("link");
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  refuses("pipe");
  std::filesystem::create_directory(file);
  refuses("folder");
  Write(file, "fd 3\n");
  refuses("another file");
  std::filesystem::rename(folder_ / "aside", file);
  EXPECT_EQ(Line(ReadOne(pid)), "faulthandler: load_batch <module>");
}

TEST_F(StackReaderTest, SkipsJunkInTheFileAndEmptiesALargeOne) {
  const pid_t pid = StartPython("load_batch()");
  const std::string junk(3 << 20, 'x');
  std::ofstream(FileOf(pid), std::ios::app) << junk;
  EXPECT_EQ(Line(ReadOne(pid)), "faulthandler: load_batch <module>");
  EXPECT_LT(std::filesystem::file_size(FileOf(pid)), 100u);
  EXPECT_EQ(Line(ReadOne(pid)), "faulthandler: load_batch <module>");
}

TEST_F(StackReaderTest, LeavesOutProcessesThatHaveEnded) {
  const pid_t pid = StartPython("load_batch()");
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(os::WaitReadable(children_[0].pidfd()));
  EXPECT_THAT(Read({pid}), IsEmpty());
}

TEST_F(StackReaderTest, HasNoFolderWhenSwitchedOff) {
  const pid_t pid = StartPython("load_batch()");
  const auto dumps = ReadStacks({{pid}, "", {}, kLong, 1 << 20});
  ASSERT_EQ(dumps.size(), 1u);
  EXPECT_EQ(dumps[0].trouble, "tony.task.stacks is off");
  EXPECT_EQ(dumps[0].way, "proc");
}

// A script stands in for the tool, since neither is installed everywhere; it is told which process
// to read, and a slow one is not waited for.
TEST_F(StackReaderTest, UsesToolsForWhatDoesNotAnswer) {
  const os::TemporaryFolder tools;
  const auto add = [&tools](const std::string& name, const std::string& script) {
    Write(tools / name, "#!/bin/bash\n" + script);
    ASSERT_EQ(::chmod((tools / name).c_str(), 0700), 0);
  };
  add("py-spy",
      "[[ \"$*\" == \"dump --nonblocking --pid \"* ]] && printf 'Thread %s (idle): "
      "\"MainThread\"\\n    wait (a.py:7)\\n' \"$4\"");
  add("eu-stack", "printf 'TID %s:\\n#0  0x01 nanosleep\\n' \"$2\"");
  const pid_t python = StartPython("load_batch()", "-I");
  const pid_t native = Start({"/bin/bash", "-c", "echo $$; read < <(sleep 1000)"});
  StackReading reading{
      {python, native}, folder_.path(), {"relative", tools.path()}, kLong, 1 << 20};
  std::vector<core::ProcessDump> dumps = ReadStacks(reading);
  ASSERT_EQ(dumps.size(), 2u);
  EXPECT_EQ(Line(dumps[0]), "py-spy: wait");
  EXPECT_EQ(Line(dumps[1]), "eu-stack: nanosleep");
  add("py-spy", "sleep 1000");
  add("eu-stack", "echo not permitted >&2; exit 1");
  dumps = ReadStacks(reading);
  EXPECT_EQ(dumps[0].way, "proc");
  EXPECT_EQ(dumps[1].way, "proc");
}

TEST_F(StackReaderTest, ReadsAcrossAProcessNamespace) {
  auto keeper = os::Keeper::Start(absl::StrCat("stack_reader_test_", ::getpid()),
                                  {.way = os::ContainmentWay::kNamespace});
  ASSERT_TRUE(keeper.ok());
  if ((*keeper)->containment_name() != "namespace") GTEST_SKIP() << "no namespaces here";
  os::SpawnRequest request = os::BashRequest("", output_);
  request.arguments = {"/usr/bin/python3", "-B", "-c",
                       absl::StrCat(kBegin, kWaits, "load_batch()")};
  request.environment = environment_;
  ASSERT_TRUE((*keeper)->Spawn(request).ok());
  const int inner = output_.ReadNumber();
  ASSERT_GT(inner, 0);
  const std::vector<core::ProcessDump> dumps = Read((*keeper)->Processes());
  ASSERT_EQ(dumps.size(), 1u);
  EXPECT_EQ(Line(dumps[0]), "faulthandler: load_batch <module>") << dumps[0].trouble;
  EXPECT_EQ(dumps[0].inner_pid, inner);
  EXPECT_NE(dumps[0].pid, inner);
}

TEST_F(StackReaderTest, SweepsFilesOfEndedProcesses) {
  const pid_t pid = StartPython("load_batch()");
  EXPECT_THAT(SweepStacks(folder_.path(), [pid] { return std::vector<pid_t>{pid}; }, {}),
              IsEmpty());
  for (int i = 0; i < 600; ++i) Write(folder_ / absl::StrCat(i, "9999999.stacks"), "fd 3\n");
  Write(folder_ / "mine", "");
  const std::vector<std::string> orphans =
      SweepStacks(folder_.path(), [pid] { return std::vector<pid_t>{pid}; }, {});
  EXPECT_EQ(orphans.size(), 600u);
  EXPECT_THAT(SweepStacks(
                  folder_.path(), [pid] { return std::vector<pid_t>{pid}; }, orphans),
              IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(FileOf(pid)));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mine"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "09999999.stacks"));
}

TEST(FitTextsTest, ShortensTheLongestFirst) {
  std::vector<core::ProcessDump> dumps(3);
  dumps[0].text = "aaaa\nbbbb\ncccc\n";
  dumps[1].text = "dd\n";
  dumps[2].text = "eeee\nffff\n";
  dumps[2].trouble = "slow";
  FitTexts(dumps, 23);
  EXPECT_EQ(dumps[0].text, "aaaa\nbbbb\n");
  EXPECT_EQ(dumps[0].trouble, "its text was cut");
  EXPECT_EQ(dumps[1].text, "dd\n");
  EXPECT_EQ(dumps[2].text, "eeee\nffff\n");
  FitTexts(dumps, 0);
  EXPECT_EQ(dumps[2].text, "");
  EXPECT_EQ(dumps[2].trouble, "slow; its text was cut");
}

}  // namespace
}  // namespace tony::executor
