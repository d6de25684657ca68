// Tests the output of each kind of progress for the same jobs, also through a real pseudo-terminal.
#include "client/show/make_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "client/cli/terminal.h"
#include "common/fake_clock.h"
#include "rpc/convert/event_json.h"
#include "tests/client/sample_events.h"
#include "tests/client/show/golden.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Runs a printer over events; the clock follows the events' times.
struct Rig {
  explicit Rig(ProgressStyle style, Screen at = Screen{90, 20, false})
      : screen(at),
        printer(MakeProgressPrinter(
            style, [this](const std::string& text) { output += text; }, [this] { return screen; },
            clock)) {}

  void Feed(const std::vector<core::JobEvent>& events) {
    for (const core::JobEvent& event : events) {
      clock.Advance(std::chrono::milliseconds(event.unix_millis - clock.UnixMillis()));
      // Time for a refresh passes between two events that are half a second apart.
      if (event.unix_millis - last >= 500) printer->Refresh();
      last = event.unix_millis;
      printer->OnEvent(event);
    }
    printer->Refresh();
  }

  FakeClock clock;
  Screen screen;
  std::string output;
  int64_t last = SampleEvents::kStart;
  std::unique_ptr<ProgressPrinter> printer;
};

SampleEvents RestartedJob() {
  SampleEvents job = RunningJob();
  core::TaskChanged failed = job.Task("worker", 1, core::TaskState::kFailed);
  failed.exit = NastyExit();
  job.Add(failed);
  job.Add(core::EpochOpened{1, "worker:1 exited with code 3", core::TaskId{"worker", 1}, 1}, 1);
  job.State(core::JobState::kRestarting);
  job.Add(
      core::JobWaiting{"2 of 4 tasks are not ready", {"worker:0", "worker:1"}, "they register"});
  job.Add(core::JobWaiting{"1 of 4 tasks are not ready", {"worker:1"}, "they register"}, 2000);
  job.Add(core::JobNote{"port 20001 is taken by pid 7 (nc)"}, 4000);
  job.State(core::JobState::kRunning);
  job.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded,
          "All tracked tasks ended with code 0.");
  return job;
}

TEST(Progress, LinesOfAFailedJob) {
  Rig rig(ProgressStyle::kLines);
  rig.Feed(FailedJob().events());
  ExpectGolden("lines_failed", rig.output);
}

TEST(Progress, LinesOfARestart) {
  Rig rig(ProgressStyle::kLines);
  rig.Feed(RestartedJob().events());
  ExpectGolden("lines_restart", rig.output);
  EXPECT_THAT(rig.output, Not(HasSubstr("\x1b")));
}

TEST(Progress, ALossSaysHowManyContainersMayStillBeReplaced) {
  Rig rig(ProgressStyle::kLines);
  SampleEvents job;
  job.Submit({{"worker", 1}});
  const core::TaskId worker{"worker", 0};
  for (int left = 2; left >= 0; --left) {
    job.Add(core::EpochOpened{3 - left, "worker:0 was lost", worker, 4, left, true});
  }
  rig.Feed(job.events());
  EXPECT_THAT(
      rig.output,
      HasSubstr("Attempt 2 begins: worker:0 was lost; 2 lost containers may still be replaced\n"
                "Attempt 3 begins: worker:0 was lost; 1 lost container may still be replaced\n"
                "Attempt 4 begins: worker:0 was lost; no lost container may be replaced any "
                "more\n"));
}

TEST(Progress, TheProgramOfAJobOfOneProgramIsCalledMain) {
  Rig rig(ProgressStyle::kLines);
  SampleEvents job;
  job.Submit({{"am", 1}});
  job.AddTask("am", 0, core::TaskState::kRunning);
  rig.Feed(job.events());
  EXPECT_THAT(rig.output, HasSubstr("): 1 main\n"));
  EXPECT_THAT(rig.output, HasSubstr("RUNNING: main [0]\n"));
}

TEST(Progress, LinesShortenRunsOfIndices) {
  SampleEvents job;
  job.Submit({{"ps", 2}, {"worker", 8}});
  for (int index : {0, 1}) job.AddTask("ps", index, core::TaskState::kRunning);
  for (int index : {0, 1, 2, 3, 5, 7}) job.AddTask("worker", index, core::TaskState::kRunning);
  for (int index : {4, 6}) job.AddTask("worker", index, core::TaskState::kSucceeded);
  Rig rig(ProgressStyle::kLines);
  rig.Feed(job.events());
  EXPECT_THAT(rig.output,
              HasSubstr("SUCCEEDED: worker [4, 6]\nRUNNING: ps [0, 1] worker [0-3, 5, 7]\n"));
}

TEST(Progress, LinesNameAWaitOnlyWhenItLasts) {
  SampleEvents job;
  job.Submit({{"worker", 2}});
  job.Add(core::JobWaiting{"needs 2 GPUs, 0 of 4 free", {}, "another job ends"});
  Rig rig(ProgressStyle::kLines);
  rig.Feed(job.events());
  EXPECT_THAT(rig.output, Not(HasSubstr("Waiting")));
  rig.clock.Advance(std::chrono::seconds(2));
  rig.printer->Refresh();
  rig.printer->Refresh();
  EXPECT_THAT(rig.output, ::testing::EndsWith(
                              "Waiting for 2.0s: needs 2 GPUs, 0 of 4 free; another job ends\n"));
  job.Add(core::JobWaiting{"needs 2 GPUs, 1 of 4 free", {}, "another job ends"});
  rig.printer->OnEvent(job.events().back());
  rig.printer->Refresh();
  EXPECT_THAT(rig.output, Not(HasSubstr("1 of 4 free")));
  rig.clock.Advance(std::chrono::seconds(6));
  rig.printer->Refresh();
  EXPECT_THAT(rig.output, HasSubstr("needs 2 GPUs, 1 of 4 free"));
}

TEST(Progress, TableIsRedrawnInPlace) {
  Rig rig(ProgressStyle::kTable);
  rig.Feed(FailedJob().events());
  ExpectGolden("table_sequence", rig.output);
}

TEST(Progress, TableSaysWhoIsWaitedForAfterCtrlC) {
  std::vector<core::JobEvent> events = FailedJob().events();
  events.resize(RunningJob().events().size());
  Rig rig(ProgressStyle::kTable);
  rig.Feed(events);
  const auto drawn = [&](const std::function<void()>& change) {
    rig.output.clear();
    change();
    return rig.output;
  };
  EXPECT_THAT(drawn([&] { rig.printer->OnStop(std::chrono::seconds(5)); }),
              HasSubstr("\nStopping; Ctrl-C again: leave the terminal, the job ends by itself\n"));
  SampleEvents stopping = RunningJob();
  stopping.State(core::JobState::kStopping);
  rig.printer->OnEvent(stopping.events().back());
  EXPECT_THAT(drawn([&] { rig.printer->Refresh(); }),
              HasSubstr("\nStopping (chief:0, ps:0, worker:0 and 1 more have "));
  const std::vector<std::pair<std::string, int>> others = {{"chief", 0}, {"ps", 0}, {"worker", 1}};
  for (const auto& [type, index] : others) {
    stopping.AddTask(type, index, core::TaskState::kStopped);
    rig.printer->OnEvent(stopping.events().back());
  }
  rig.clock.Advance(std::chrono::milliseconds(stopping.now() + 2'500 - rig.clock.UnixMillis()));
  EXPECT_THAT(drawn([&] { rig.printer->Refresh(); }),
              HasSubstr("\nStopping (worker:0 has 3 s left); Ctrl-C again: leave the terminal, the "
                        "job ends by itself\n"));
  rig.clock.Advance(std::chrono::seconds(4));
  EXPECT_THAT(drawn([&] { rig.printer->Refresh(); }),
              HasSubstr("\nStopping (worker:0 is being killed); Ctrl-C again"));
  stopping.End(core::Outcome::kKilled, core::Reason::kKilledByUser, "Stopped by the user.");
  rig.printer->OnEvent(stopping.events().back());
  EXPECT_THAT(rig.output, HasSubstr("\x1b[?7hKILLED (KILLED_BY_USER): Stopped by the user.\n"));
  EXPECT_THAT(drawn([&] { rig.printer->Close(); }), "");
}

TEST(Progress, NoticesStandAboveTheTable) {
  Rig rig(ProgressStyle::kTable);
  rig.Feed(RunningJob().events());
  rig.output.clear();
  rig.printer->Notice("the ApplicationMaster \x1b[2Jwas lost");
  EXPECT_THAT(rig.output, ::testing::StartsWith("\r\x1b[Jthe ApplicationMaster was lost\n\x1b[?7l"
                                                "digits (job-20240101-0001)  RUNNING"));
}

TEST(Progress, TheTableStaysWhenOthersPrint) {
  Rig rig(ProgressStyle::kTable);
  rig.Feed(RunningJob().events());
  for (const bool last : {false, true}) {
    rig.output.clear();
    last ? rig.printer->Close() : rig.printer->Suspend();
    EXPECT_THAT(rig.output, ::testing::StartsWith("\r\x1b[J"));
    EXPECT_THAT(rig.output, ::testing::EndsWith("\x1b[?7h"));  // the cursor is below
    rig.output.clear();
    rig.printer->Refresh();
    // The next table does not erase what others have printed since.
    EXPECT_THAT(rig.output, Not(HasSubstr("\x1b[J")));
    EXPECT_EQ(rig.output.empty(), last);
  }
}

TEST(Progress, ATableIsNeverHigherThanTheScreen) {
  Screen screen{80, 1, false};
  for (const int rows : {1, 2, 4, 6, 9, 20}) {
    screen.rows = rows;
    Rig rig(ProgressStyle::kTable, screen);
    rig.Feed(RunningJob().events());
    rig.output.clear();
    rig.printer->OnStop(std::chrono::seconds(5));
    EXPECT_LE(std::count(rig.output.begin(), rig.output.end(), '\n'), std::max(1, rows - 1))
        << rows << ": " << rig.output;
  }
}

TEST(Progress, TableWritesNothingWhenNothingChanged) {
  Rig rig(ProgressStyle::kTable);
  rig.Feed(FailedJob().events());
  const std::string before = rig.output;
  rig.clock.Advance(std::chrono::seconds(10));
  rig.printer->Refresh();
  EXPECT_EQ(rig.output, before);
}

TEST(Progress, QuietPrintsTheVerdictOnly) {
  Rig rig(ProgressStyle::kQuiet);
  rig.Feed(RestartedJob().events());
  EXPECT_EQ(rig.output, "SUCCEEDED (TASKS_SUCCEEDED): All tracked tasks ended with code 0.\n");
}

TEST(Progress, JsonPrintsEachEventOnce) {
  const std::vector<core::JobEvent> events = FailedJob().events();
  Rig rig(ProgressStyle::kJson);
  rig.Feed(events);
  rig.Feed({events.back()});
  std::istringstream lines(rig.output);
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    ASSERT_TRUE(event.ok()) << event.status() << line;
    EXPECT_EQ(event->sequence, events[count].sequence);
    EXPECT_EQ(event->body.index(), events[count].body.index());
    ++count;
  }
  EXPECT_EQ(count, events.size());
}

TEST(Progress, NoneOnlyTellsOfTheFirstEvent) {
  Rig rig(ProgressStyle::kNone);
  rig.Feed(FailedJob().events());
  EXPECT_EQ(rig.output, "");
  int calls = 0;
  const auto printer = MakeFirstEventPrinter([&calls] { ++calls; });
  for (const core::JobEvent& event : FailedJob().events()) printer->OnEvent(event);
  EXPECT_EQ(calls, 1);
}

TEST(Progress, OnlyJsonPrintsMeasurementsWhichAreNoEvents) {
  const std::vector<core::JobEvent> events = RunningJob().events();
  const core::JobEvent measured{0, 7, core::TaskMeasured{{"worker", 0}, {}, 1}};
  for (const ProgressStyle style : {ProgressStyle::kTable, ProgressStyle::kLines,
                                    ProgressStyle::kQuiet, ProgressStyle::kJson}) {
    Rig rig(style);
    rig.Feed(events);
    const std::string before = rig.output;
    const bool shows = style == ProgressStyle::kJson || style == ProgressStyle::kTable;
    EXPECT_EQ(rig.printer->shows_measurements(), shows);
    for (int i = 0; i < 2; ++i) rig.printer->OnMeasurement(measured);
    const std::string line = rpc::EventToJsonLine(measured) + "\n";
    EXPECT_EQ(rig.output, style == ProgressStyle::kJson ? before + line + line : before);
    EXPECT_EQ(line.find("sequence"), std::string::npos);
  }
}

/// The output of `fd` up to and including `text`, within ten seconds.
std::string ReadUntil(int fd, const std::string& text) {
  std::string seen;
  char buffer[4096];
  pollfd readable{fd, POLLIN, 0};
  while (seen.find(text) == std::string::npos && poll(&readable, 1, 10'000) == 1) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    seen.append(buffer, count);
  }
  return seen;
}

TEST(Progress, FitsARealTerminalAndFollowsItsSize) {
  int master = -1, slave = -1;
  winsize size{};
  size.ws_row = 40;
  size.ws_col = 50;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  Environment environment;
  environment.term = "xterm";
  EXPECT_TRUE(IsLiveTerminal(slave, environment));
  EXPECT_TRUE(DescribeScreen(slave, environment).color);
  EXPECT_EQ(DescribeScreen(slave, environment).width, 50);
  EXPECT_EQ(DescribeScreen(slave, environment).max_tasks, 30);
  environment.no_color = true;
  EXPECT_FALSE(DescribeScreen(slave, environment).color);

  FakeClock clock;
  auto printer = MakeProgressPrinter(
      ProgressStyle::kTable,
      [&](const std::string& text) {
        ASSERT_EQ(write(slave, text.data(), text.size()), ssize_t(text.size()));
      },
      [&] { return DescribeScreen(slave, environment); }, clock);
  for (const core::JobEvent& event : RunningJob().events()) printer->OnEvent(event);
  printer->Refresh();
  size.ws_row = 11;  // too few lines for four tasks
  ASSERT_EQ(ioctl(master, TIOCSWINSZ, &size), 0);
  printer->Refresh();
  const std::string seen = ReadUntil(master, "worker  2      2 RUNNING");
  EXPECT_THAT(seen, HasSubstr("worker:1  "));
  EXPECT_THAT(seen, HasSubstr("\x1b[8A\r\x1b[J"));  // eight lines up at once, and erased later
  EXPECT_THAT(seen, HasSubstr("TYPE    TASKS  STATES"));
  close(slave);
  close(master);
  environment.term = "dumb";
  EXPECT_FALSE(IsLiveTerminal(0, environment));
}

}  // namespace
}  // namespace tony::client
