// Logs of a job on disk, printed and followed while they grow.
#include "history/log_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/record/observed_job.h"
#include "history/job_watch.h"
#include "os/files/unique_fd.h"
#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Attempt(const storage::JobFolder& folder, const core::TaskId& task, int attempt,
                    const char* stream) {
  return absl::StrCat(folder.task_logs(task), "/attempt-", attempt, "/", stream, ".log");
}

/// Collects lines as "task/attempt/stream: line"; a test waits for one of them. Thread safe.
class Collector {
 public:
  LogLineUse Use() {
    return [this](const LogFile& log, const logs::LogLine& line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.push_back(absl::StrCat(log.task, "/", log.attempt, "/", log.stream, ": ", line.text));
      changed_.notify_all();
    };
  }
  std::vector<std::string> lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  /// False when `line` has not come within ten seconds.
  bool WaitFor(const std::string& line) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

/// A clock that stands still until it is moved. Thread safe.
class HandClock : public Clock {
 public:
  TimePoint Now() const override { return TimePoint{}; }
  int64_t UnixMillis() const override { return millis_; }
  void Advance(int64_t millis) { millis_ += millis; }

 private:
  std::atomic<int64_t> millis_ = 1'700'000'000'000;
};

/// A running job with logs of two tasks.
struct LoggingJob {
  LoggingJob() {
    logs::AppendLog(Attempt(folder, {"worker", 10}, 1, "stdout"), "w10\n");
    logs::AppendLog(Attempt(folder, {"worker", 9}, 1, "stderr"), "w9 err\n");
    logs::AppendLog(Attempt(folder, {"worker", 9}, 1, "stdout"), "w9 one\nw9 two\n");
    logs::AppendLog(Attempt(folder, {"parameter-server", 0}, 1, "stdout"), "ps");
    logs::AppendLog(folder.task_logs({"worker", 9}) + "/executor.log", "executor\n");
    logs::AppendLog(folder.logs() + "/am.log", "master\n");
    logs::AppendLog(folder.logs() + "/stray/attempt-x/stdout.log", "stray\n");
  }
  std::vector<std::string> Print(const LogStreamOptions& options) {
    Collector collector;
    LogStream(folder, options, clock, collector.Use()).PrintAll();
    return collector.lines();
  }

  os::TemporaryFolder local;
  SystemClock clock;
  storage::JobFolder folder =
      client::WriteJob(local.path(), "job-a", client::RunningJob().events());
};

TEST(LogStream, PrintsAllTasksInOrder) {
  LoggingJob job;
  EXPECT_THAT(job.Print({}), ElementsAre("parameter-server:0/1/stdout: ps",
                                         "worker:9/1/stdout: w9 one", "worker:9/1/stdout: w9 two",
                                         "worker:9/1/stderr: w9 err", "worker:10/1/stdout: w10"));
}

TEST(LogStream, SelectsTasksAndStreams) {
  LoggingJob job;
  EXPECT_THAT(job.Print({{"worker:9", false, true, false}}),
              ElementsAre("worker:9/1/stderr: w9 err"));
  EXPECT_THAT(job.Print({{"worker:9", false, false, true}}),
              ElementsAre("worker:9/0/executor: executor"));
  EXPECT_THAT(job.Print({{"worker", true, false, false}, 1}),
              ElementsAre("worker:9/1/stdout: w9 two", "worker:10/1/stdout: w10"));
  EXPECT_THAT(job.Print({{"am", true, true, false}}), ElementsAre("am/0/am: master"));
  EXPECT_THAT(job.Print({{"nobody:0", true, true, true}}), IsEmpty());
}

TEST(LogStream, OfTonysOwnLogsALevelIsSelected) {
  LoggingJob job;
  const std::string time = "2026-01-31T12:34:56.789+01:00 ";
  logs::AppendLog(job.folder.logs() + "/am.log",
                  absl::StrCat(time, "debug one\n", time, "warning two\nwhat(): crash\n", time,
                               "info three\n", time, "error four\n", time, "debug five\n"));
  LogStreamOptions options{{"am", true, true, false}};
  options.level = LogLevel::kWarning;
  // Lines without a level are not hidden: one may be the message of a crash.
  EXPECT_THAT(job.Print(options),
              ElementsAre("am/0/am: master", absl::StrCat("am/0/am: ", time, "warning two"),
                          "am/0/am: what(): crash", absl::StrCat("am/0/am: ", time, "error four")));
  options.tail = 2;
  EXPECT_THAT(job.Print(options),
              ElementsAre("am/0/am: what(): crash", absl::StrCat("am/0/am: ", time, "error four")));
}

TEST(LogStream, ProgramsLogsHaveNoLevels) {
  LoggingJob job;
  logs::AppendLog(Attempt(job.folder, {"worker", 9}, 1, "stderr"),
                  "2026-01-31T12:34:56.789+01:00 debug of a program\n");
  LogStreamOptions options{{"worker:9", false, true, false}};
  options.level = LogLevel::kError;
  EXPECT_THAT(job.Print(options),
              ElementsAre("worker:9/1/stderr: w9 err",
                          "worker:9/1/stderr: 2026-01-31T12:34:56.789+01:00 debug of a program"));
}

TEST(LogStream, ResolvesTasks) {
  core::ObservedJob job;
  for (const core::JobEvent& event : client::RunningJob().events()) job.Apply(event);
  EXPECT_EQ(*ResolveTask(job.view, "worker:1"), "worker:1");
  EXPECT_EQ(*ResolveTask(job.view, "worker-1"), "worker:1");
  EXPECT_EQ(*ResolveTask(job.view, "worker"), "worker");
  EXPECT_EQ(*ResolveTask(job.view, "am"), "am");
  const absl::Status none = ResolveTask(job.view, "worker:2").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("its tasks: chief:0, ps:0, worker:0, worker:1, am"));
}

TEST(LogStream, TheProgramOfAJobOfOneProgramHasTwoNames) {
  core::JobView view;
  core::JobSubmitted submitted;
  submitted.types = {{core::kMasterTaskType, 1}};
  view.Apply({1, 1, submitted});
  for (const char* const wish : {"main:0", "am:0", "main-0", "am-0"}) {
    EXPECT_EQ(*ResolveTask(view, wish), "main:0") << wish;
  }
  EXPECT_EQ(*ResolveTask(view, "main"), "main");
  EXPECT_EQ(*ResolveTask(view, "am"), "am") << "the ApplicationMaster's own log";
  EXPECT_THAT(std::string(ResolveTask(view, "main:1").status().message()),
              HasSubstr("its tasks: main:0, am"));
}

TEST(LogStream, FollowsNewLinesNewAttemptsAndRotationToTheEnd) {
  LoggingJob job;
  client::HeldLock lock(job.folder);
  Collector collector;
  absl::Status result = absl::UnknownError("not yet");
  std::thread follower([&] {
    result = LogStream(job.folder, {{"worker", true, true, false}, 1}, job.clock, collector.Use())
                 .Follow();
  });
  EXPECT_TRUE(collector.WaitFor("worker:9/1/stdout: w9 two"));
  const std::string first = Attempt(job.folder, {"worker", 9}, 1, "stdout");
  logs::AppendLog(first, "w9 three\n");
  EXPECT_TRUE(collector.WaitFor("worker:9/1/stdout: w9 three"));
  std::filesystem::rename(first, first + ".1");
  logs::AppendLog(first, "rotated\n");
  EXPECT_TRUE(collector.WaitFor("worker:9/1/stdout: rotated"));
  logs::AppendLog(Attempt(job.folder, {"worker", 9}, 2, "stdout"), "again\nand again\n");
  EXPECT_TRUE(collector.WaitFor("worker:9/2/stdout: and again"));
  logs::AppendLog(Attempt(job.folder, {"worker", 11}, 1, "stderr"), "newcomer\n");
  EXPECT_TRUE(collector.WaitFor("worker:11/1/stderr: newcomer"));
  logs::AppendLog(first, "last words");
  std::vector<core::JobEvent> events = client::FailedJob().events();
  events.erase(events.begin(), events.begin() + client::RunningJob().events().size());
  client::AppendEvents(job.folder, events);
  follower.join();
  EXPECT_TRUE(result.ok()) << result;
  const std::vector<std::string> lines = collector.lines();
  EXPECT_EQ(lines.back(), "worker:9/1/stdout: last words");
  EXPECT_THAT(lines, ::testing::Not(::testing::Contains("worker:9/1/stdout: w9 one")));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "worker:9/2/stdout: again"), 1);
}

TEST(LogStream, MergesTasksByTime) {
  os::TemporaryFolder local;
  SystemClock clock;
  const storage::JobFolder folder =
      client::WriteJob(local.path(), "job-a", client::RunningJob().events());
  const std::string zero = Attempt(folder, {"worker", 0}, 1, "stdout");
  const std::string zero_errors = Attempt(folder, {"worker", 0}, 1, "stderr");
  const std::string one = Attempt(folder, {"worker", 1}, 1, "stdout");
  logs::AppendTimed(one, "b\nc\n", 20);
  logs::AppendTimed(zero, "a\n", 10);
  logs::AppendTimed(zero, "f\n", 40, 2);
  logs::AppendTimed(zero_errors, "d\n", 20);
  logs::AppendTimed(one, "e", 30);
  logs::AppendLog(Attempt(folder, {"worker", 2}, 1, "stdout"), "no times\n");
  const auto print = [&](const LogStreamOptions& options) {
    Collector collector;
    LogStream(folder, options, clock, collector.Use()).PrintAll();
    return collector.lines();
  };
  EXPECT_THAT(print({}),
              ElementsAre("worker:2/1/stdout: no times", "worker:0/1/stdout: a",
                          "worker:0/1/stderr: d", "worker:1/1/stdout: b", "worker:1/1/stdout: c",
                          "worker:1/1/stdout: e", "worker:0/1/stdout: f"));
  LogStreamOptions since;
  since.since = 30;
  EXPECT_THAT(print(since), ElementsAre("worker:2/1/stdout: no times", "worker:1/1/stdout: e",
                                        "worker:0/1/stdout: f"));
  LogStreamOptions tail;
  tail.tail = 1;
  EXPECT_THAT(print(tail), ElementsAre("worker:2/1/stdout: no times", "worker:0/1/stderr: d",
                                       "worker:1/1/stdout: e", "worker:0/1/stdout: f"));
}

TEST(LogStream, FollowsSegmentsMergedByTime) {
  os::TemporaryFolder local;
  const storage::JobFolder folder =
      client::WriteJob(local.path(), "job-a", client::RunningJob().events());
  HandClock clock;
  auto lock = std::make_unique<client::HeldLock>(folder);
  const std::string zero = Attempt(folder, {"worker", 0}, 1, "stdout");
  const std::string one = Attempt(folder, {"worker", 1}, 1, "stdout");
  const int64_t now = clock.UnixMillis();
  logs::AppendTimed(zero, "start\n", now - 1000);
  Collector collector;
  absl::Status result = absl::UnknownError("not yet");
  std::thread follower([&] { result = LogStream(folder, {}, clock, collector.Use()).Follow(); });
  EXPECT_TRUE(collector.WaitFor("worker:0/1/stdout: start"));
  // The younger line comes first, and waits for the older one.
  logs::AppendTimed(one, "younger\n", now - 10);
  logs::AppendTimed(zero, "older\n", now - 20);
  logs::AppendTimed(zero, "next segment\n", now, 2);
  clock.Advance(1000);
  EXPECT_TRUE(collector.WaitFor("worker:0/1/stdout: next segment"));
  // From before the clock was set back: waits for nothing.
  logs::AppendTimed(one, "from the future\n", now + 86'400'000);
  EXPECT_TRUE(collector.WaitFor("worker:1/1/stdout: from the future"));
  lock.reset();
  follower.join();
  EXPECT_TRUE(result.ok()) << result;
  EXPECT_THAT(collector.lines(),
              ElementsAre("worker:0/1/stdout: start", "worker:0/1/stdout: older",
                          "worker:1/1/stdout: younger", "worker:0/1/stdout: next segment",
                          "worker:1/1/stdout: from the future"));
}

TEST(LogStream, StopsFollowingWhenTheApplicationMasterDies) {
  LoggingJob job;
  auto lock = std::make_unique<client::HeldLock>(job.folder);
  Collector collector;
  absl::Status result = absl::UnknownError("not yet");
  std::thread follower(
      [&] { result = LogStream(job.folder, {}, job.clock, collector.Use()).Follow(); });
  EXPECT_TRUE(collector.WaitFor("worker:10/1/stdout: w10"));
  lock.reset();
  follower.join();
  EXPECT_TRUE(result.ok()) << result;
}

TEST(JobWatch, KnowsJobsThatAreOverAlready) {
  os::TemporaryFolder local;
  auto ended =
      JobWatch::Start(client::WriteJob(local.path(), "job-a", client::FailedJob().events()));
  EXPECT_TRUE((*ended)->over() && (*ended)->ended());
  auto lost =
      JobWatch::Start(client::WriteJob(local.path(), "job-b", client::RunningJob().events()));
  EXPECT_TRUE((*lost)->over() && !(*lost)->ended());
  const storage::JobFolder staged = client::WriteJob(local.path(), "job-c", {});
  {
    const client::HeldGuard guard(staged);
    EXPECT_FALSE((*JobWatch::Start(staged))->over());
  }
  EXPECT_TRUE((*JobWatch::Start(staged))->over());
  auto none = JobWatch::Start(storage::JobFolder(local.path() + "/none"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
}

TEST(JobWatch, WaitsForAnApplicationMasterThatStartsLater) {
  os::TemporaryFolder local;
  const storage::JobFolder folder = client::WriteJob(local.path(), "job-a", {});
  auto guard = std::make_unique<client::HeldGuard>(folder);
  auto watch = *JobWatch::Start(folder);
  EXPECT_TRUE(watch->Wait(std::chrono::milliseconds(0))->empty());
  auto lock = std::make_unique<client::HeldLock>(folder);
  ASSERT_FALSE(watch->Wait(std::chrono::seconds(10))->empty());
  EXPECT_FALSE(watch->over());
  guard.reset();
  EXPECT_FALSE(watch->over());
  lock.reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!watch->over() && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(watch->Wait(std::chrono::seconds(1)).ok());
  }
  EXPECT_TRUE(watch->over());
}

TEST(LogStream, LeavesOutWhatIsTooFarBehind) {
  const LoggingJob job;
  const client::HeldLock lock(job.folder);
  std::string text;
  for (int count = 0; count < 20'000; ++count) absl::StrAppend(&text, "line ", count, "\n");
  logs::AppendLog(Attempt(job.folder, {"worker", 10}, 1, "stdout"), text);
  Collector collector;
  LogStreamOptions options{{"worker", true, true, false}};
  options.most_unread = 100'000;
  int64_t left_out = 0;
  options.on_left_out = [&](const LogFile& log, const logs::LogReader::LeftOut& lines) {
    EXPECT_EQ(log.task, "worker:10");
    left_out += lines.lines;
  };
  int pauses = 0;
  options.on_pause = [&] { ++pauses; };
  const os::UniqueFd end(eventfd(1, EFD_CLOEXEC));  // although the job lives
  options.end_fd = end.get();
  SystemClock clock;
  EXPECT_EQ(LogStream(job.folder, options, clock, collector.Use()).Follow(), absl::OkStatus());
  const std::vector<std::string> lines = collector.lines();
  EXPECT_GT(left_out, 10'000);
  // Three lines of other streams, and the first one of this.
  EXPECT_EQ(static_cast<int64_t>(lines.size()) + left_out, 20'000 + 1 + 3);
  EXPECT_EQ(lines[2], "worker:9/1/stderr: w9 err");
  EXPECT_EQ(lines.back(), "worker:10/1/stdout: line 19999");
  EXPECT_EQ(pauses, 2);
}

}  // namespace
}  // namespace tony::history
