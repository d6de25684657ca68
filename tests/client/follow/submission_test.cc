// A client that follows the real ApplicationMaster of a real job to its end, or leaves before it.
#include "client/follow/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/messages.h"
#include "client/follow/local_master_source.h"
#include "client/show/make_printer.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/processes/own_program.h"
#include "os/processes/process_tree.h"
#include "tests/client/staged_job.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{30};

// Calls a function at the first running task.
class Watcher : public ProgressPrinter {
 public:
  explicit Watcher(std::function<void()> when_running) : when_running_(std::move(when_running)) {}
  void OnEvent(const core::JobEvent& event) override {
    ++events;
    if (std::holds_alternative<core::MasterRestarted>(event.body)) when_restarted();
    const auto* job = std::get_if<core::JobStateChanged>(&event.body);
    if (job != nullptr && job->state == core::JobState::kStopping) when_stopping();
    const auto* change = std::get_if<core::TaskChanged>(&event.body);
    if (change != nullptr && change->state == core::TaskState::kRunning) when_running_();
  }
  void Refresh() override { ++refreshes; }

  int events = 0;
  int refreshes = 0;
  std::function<void()> when_restarted = [] {};
  std::function<void()> when_stopping = [] {};

 private:
  const std::function<void()> when_running_;
};

// Returns when all of its threads have stopped: until the one that got the signal runs, which takes
// its time when it is starting a process, the others go on, and may answer.
void StopMaster(pid_t master) {
  ASSERT_EQ(::kill(master, SIGSTOP), 0);
  siginfo_t stopped;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(master), &stopped, WSTOPPED), 0);
}

class SubmissionTest : public StagedJobTest {
 protected:
  // Runs the job `command`; `when_running` is called on the loop with the ApplicationMaster's id.
  absl::StatusOr<core::Verdict> Run(const std::string& command,
                                    std::function<void(pid_t)> when_running, int restarts = 0) {
    EXPECT_EQ(Stage({{"tony.worker.command", command}}), absl::OkStatus());
    auto master = MasterProcess::Start(job_folder_, {.deadline = kPatience});
    EXPECT_TRUE(master.ok()) << master.status();
    if (!master.ok()) return master.status();
    EventLoop loop;
    const pid_t pid = master->pid();
    before_following_(pid);
    Watcher watcher([&] { when_running(pid); });
    watcher.when_restarted = when_restarted_;
    watcher.when_stopping = when_stopping_;
    SystemClock clock;
    LocalMasterSource source(loop, clock,
                             {.folder = job_folder_,
                              .start_deadline = start_deadline_,
                              .exit_deadline = kPatience,
                              .restarts = restarts},
                             *std::move(master));
    Submission submission(loop, clock,
                          {.answer_deadline = start_deadline_,
                           .stop_deadline = kPatience,
                           .owner = owner_,
                           .on_hangup = on_hangup_},
                          source, watcher);
    auto verdict = submission.FollowToEnd();
    events_ = watcher.events;
    refreshes_ = watcher.refreshes;
    return verdict;
  }

  /// The ApplicationMaster that runs the job now.
  void KillMaster() {
    const auto program = os::ProgramBeside("tony-am");
    ASSERT_TRUE(program.ok()) << program.status();
    const auto masters = os::ProcessesByArgument("--job-folder=", *program);
    const auto found = masters.find(job_folder_.root());
    ASSERT_NE(found, masters.end());
    ASSERT_EQ(::kill(found->second, SIGKILL), 0);
  }

  int events_ = 0;
  int refreshes_ = 0;
  std::function<void()> when_restarted_ = [] {};
  std::function<void()> when_stopping_ = [] {};
  std::function<void(pid_t)> before_following_ = [](pid_t) {};
  Duration start_deadline_ = kPatience;
  bool owner_ = true;
  std::function<void()> on_hangup_ = nullptr;
};

TEST_F(SubmissionTest, EndsWithTheVerdictWhenTheMasterIsGone) {
  const auto verdict = Run("exit 3", [](pid_t) {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(core::ExitCode(*verdict), 1);
  EXPECT_FALSE(os::IsFileLocked(job_folder_.am_lock()));
  EXPECT_GT(events_, 5);
  EXPECT_GE(refreshes_, 2);
}

TEST_F(SubmissionTest, AMasterThatDoesNotAnswerIsReplaced) {
  before_following_ = StopMaster;
  // On a busy machine the next one may need longer, too.
  start_deadline_ = std::chrono::seconds(2);
  const std::string flag = folder_ / "go";
  const auto verdict = Run(
      absl::StrCat("until [ -e ", flag, " ]; do sleep 0.02; done"),
      // Nothing is heard of the first one.
      [&](pid_t) { EXPECT_EQ(os::WriteFileAtomically(flag, ""), absl::OkStatus()); },
      /*restarts=*/20);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded) << verdict->sentence;
}

TEST_F(SubmissionTest, WhatItRecordedCountsOfAMasterThatDidNotAnswer) {
  before_following_ = StopMaster;
  start_deadline_ = std::chrono::milliseconds(100);
  const auto verdict = Run(
      "true", [](pid_t) {}, 0);
  EXPECT_EQ(verdict.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(events_, 0);
}

TEST_F(SubmissionTest, CtrlCStopsTheJob) {
  const auto verdict = Run("sleep 600", [](pid_t) { ::raise(SIGINT); });
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict->reason, core::Reason::kKilledByUser);
  EXPECT_THAT(verdict->sentence, HasSubstr("Ctrl-C"));
}

TEST_F(SubmissionTest, ASecondCtrlCLeavesWithoutTheVerdict) {
  when_stopping_ = [] { ::raise(SIGINT); };
  const auto verdict = Run("trap '' TERM; sleep 600", [](pid_t) { ::raise(SIGINT); });
  EXPECT_EQ(verdict.status(),
            absl::CancelledError("leaving; the job is being stopped without anybody watching"));
  EXPECT_EQ(ExitOf(verdict.status()), 4);
}

TEST_F(SubmissionTest, AHangupStopsTheJobUnlessItIsToGoOn) {
  const auto stopped = Run("sleep 600", [](pid_t) { ::raise(SIGHUP); });
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_THAT(stopped->sentence, HasSubstr("SIGHUP"));
}

TEST_F(SubmissionTest, AfterAHangupTheJobGoesOn) {
  const std::string flag = folder_ / "go";
  int hangups = 0;
  on_hangup_ = [&] {
    ++hangups;
    EXPECT_EQ(os::WriteFileAtomically(flag, ""), absl::OkStatus());
  };
  const auto verdict = Run(absl::StrCat("until [ -e ", flag, " ]; do sleep 0.02; done"), [](pid_t) {
    for (int i = 0; i < 3; ++i) ::raise(SIGHUP);
  });
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded) << verdict->sentence;
  EXPECT_EQ(hangups, 1);
}

TEST_F(SubmissionTest, SigtermOfAProcessAndOfItsGroupIsOne) {
  when_stopping_ = [] { ::raise(SIGTERM); };
  const auto verdict = Run("sleep 600", [](pid_t) { ::raise(SIGTERM); });
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->reason, core::Reason::kKilledByUser);
}

TEST_F(SubmissionTest, CtrlCOfAGuestOnlyEndsTheFollowing) {
  owner_ = false;
  const auto verdict = Run("sleep 600", [](pid_t) { ::raise(SIGINT); });
  EXPECT_EQ(verdict.status(), absl::CancelledError("leaving; the job goes on"));
}

TEST_F(SubmissionTest, ThreeAtOnceLeaveOneThatDoesNotAnswer) {
  pid_t stopped = 0;
  const auto began = std::chrono::steady_clock::now();
  const auto verdict = Run("trap '' TERM; sleep 600", [&](pid_t master) {
    stopped = master;
    StopMaster(master);
    for (int i = 0; i < 3; ++i) ::raise(SIGINT);
  });
  EXPECT_TRUE(absl::IsCancelled(verdict.status())) << verdict.status();
  EXPECT_THAT(std::string(verdict.status().message()), HasSubstr("before anybody could be told"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kPatience);
  ::kill(stopped, SIGCONT);
}

TEST_F(SubmissionTest, AMasterThatWasKilledLeavesNoVerdict) {
  const auto verdict = Run("sleep 600", [](pid_t master) { ::kill(master, SIGKILL); });
  EXPECT_EQ(verdict.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(verdict.status().message()), HasSubstr("without a verdict"));
}

TEST_F(SubmissionTest, AMasterThatWasKilledIsReplaced) {
  const std::string flag = folder_ / "go";
  int restarts = 0;
  when_restarted_ = [&] {
    if (++restarts == 2) {
      EXPECT_EQ(os::WriteFileAtomically(flag, ""), absl::OkStatus());
    }
  };
  const auto verdict = Run(
      absl::StrCat("until [ -e ", flag, " ]; do sleep 0.02; done"),
      [&](pid_t) {
        // The task runs, and says so to the first and to the second, which then is killed.
        if (restarts < 2) KillMaster();
      },
      /*restarts=*/2);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded);
  EXPECT_EQ(restarts, 2);
}

// A job that has no ApplicationMaster, and of which nobody can say at first that it is to stop.
class WaitingJob : public MasterSource {
 public:
  void Start(Callbacks callbacks) override {
    callbacks_ = std::move(callbacks);
    ::raise(SIGINT);
  }
  void OnAnswer() override {}
  void OnNoAnswer() override {}
  void OnConcluded() override {}
  void OnStreamClosed(const absl::Status& /*why*/) override {}
  void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) override {
    ++tries;
    if (tries == 1) return done(absl::UnavailableError("the ResourceManager is away"));
    const core::Verdict killed{.outcome = core::Outcome::kKilled, .sentence = sentence};
    done(absl::OkStatus());
    callbacks_.over(killed, {});
  }
  absl::Status ReadEvents(const history::UseEvent& /*use*/) override { return absl::OkStatus(); }
  std::string AfterLeaving() const override { return "it goes on"; }

  int tries = 0;

 private:
  Callbacks callbacks_;
};

TEST(WaitingJobTest, OneCtrlCStopsItAlsoIfNobodyCanBeToldAtFirst) {
  EventLoop loop;
  SystemClock clock;
  WaitingJob source;
  Watcher watcher([] {});
  Submission submission(loop, clock, {.answer_deadline = kPatience}, source, watcher);
  testing::internal::CaptureStderr();
  const auto verdict = submission.FollowToEnd();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->sentence, "Stopped by the user who submitted it (Ctrl-C)");
  EXPECT_EQ(source.tries, 2);
  EXPECT_THAT(said, HasSubstr("yet; trying again and again: the ResourceManager is away\n"));
}

// A job that is over before it is looked at, whose record cannot be read at first.
class EndedJob : public MasterSource {
 public:
  /// `tells`: of its end, without being asked.
  explicit EndedJob(EventLoop& loop, bool tells = true) : loop_(loop), tells_(tells) {}

  void Start(Callbacks callbacks) override {
    if (!tells_) return;
    over_ = loop_.After(Duration::zero(), [this, callbacks] { callbacks.over(verdict, why); });
  }
  void OnAnswer() override {}
  void OnNoAnswer() override {}
  void OnConcluded() override {}
  void OnStreamClosed(const absl::Status& /*why*/) override {}
  void Abandon(const std::string& /*sentence*/, std::function<void(absl::Status)> done) override {
    done(absl::UnavailableError("nobody is there"));
  }
  absl::Status ReadEvents(const history::UseEvent& use) override {
    ++reads;
    if (reads <= failed_reads) return absl::UnavailableError("the NameNode is away");
    for (const core::JobEvent& event : events) use(1, event);
    return absl::OkStatus();
  }
  std::string AfterLeaving() const override { return "it goes on"; }

  std::optional<core::Verdict> verdict;
  absl::Status why = absl::UnavailableError("it has ended");
  std::vector<core::JobEvent> events;
  int failed_reads = 0;
  int reads = 0;

 private:
  EventLoop& loop_;
  const bool tells_;
  std::unique_ptr<EventLoop::Handle> over_;
};

class EndedJobTest : public testing::Test {
 protected:
  absl::StatusOr<core::Verdict> Follow(Duration read_deadline) {
    Watcher watcher([] {});
    return Follow(read_deadline, watcher);
  }
  absl::StatusOr<core::Verdict> Follow(Duration read_deadline, ProgressPrinter& printer) {
    Submission submission(
        loop_, clock_,
        {.answer_deadline = kPatience, .stop_deadline = kPatience, .read_deadline = read_deadline},
        source_, printer);
    testing::internal::CaptureStderr();
    auto verdict = submission.FollowToEnd();
    said_ = testing::internal::GetCapturedStderr();
    return verdict;
  }
  static core::Verdict Of(core::Outcome outcome) { return {.outcome = outcome}; }

  EventLoop loop_;
  SystemClock clock_;
  EndedJob source_{loop_};
  std::string said_;
};

TEST_F(EndedJobTest, WhatCannotBeReadIsTriedAgain) {
  source_.events = {{1, 0, core::JobEnded{Of(core::Outcome::kSucceeded)}}};
  source_.verdict = Of(core::Outcome::kFailed);
  source_.failed_reads = 2;
  const auto verdict = Follow(kPatience);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded);
  EXPECT_EQ(source_.reads, 3);
  EXPECT_THAT(said_, HasSubstr("the NameNode is away"));
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 1) << said_;
}

TEST_F(EndedJobTest, WhatStaysUnreadableLeavesTheBackendsVerdict) {
  source_.verdict = Of(core::Outcome::kSucceeded);
  source_.failed_reads = 1'000'000;
  const auto verdict = Follow(std::chrono::milliseconds(20));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded);
}

TEST_F(EndedJobTest, WhatHasNoEndIsTheBackendsToSay) {
  EXPECT_EQ(Follow(kPatience).status(), source_.why);
  EXPECT_EQ(source_.reads, 1);
  EXPECT_EQ(said_, "");
}

TEST_F(EndedJobTest, TheRecordedEndCountsWhateverItsNumber) {
  // The first ApplicationMaster could not write all that it told of, so the next one's numbers are
  // lower.
  source_.events = {{2, 0, core::JobEnded{Of(core::Outcome::kFailed)}},
                    {1, 0, core::JobEnded{Of(core::Outcome::kSucceeded)}}};
  const auto verdict = Follow(kPatience);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kSucceeded);
}

TEST_F(EndedJobTest, TheRecordedEndIsPrintedWhateverItsNumber) {
  core::Verdict verdict = Of(core::Outcome::kSucceeded);
  verdict.sentence = "all is well";
  source_.events = {{7, 0, core::JobNote{"told, but not recorded"}},
                    {5, 0, core::JobEnded{verdict}}};
  for (const ProgressStyle style : {ProgressStyle::kTable, ProgressStyle::kLines,
                                    ProgressStyle::kQuiet, ProgressStyle::kJson}) {
    std::string output;
    const auto printer = MakeProgressPrinter(
        style, [&output](const std::string& text) { output += text; }, [] { return Screen(); },
        clock_);
    EXPECT_TRUE(Follow(kPatience, *printer).ok());
    EXPECT_THAT(output, HasSubstr("all is well")) << static_cast<int>(style);
  }
}

TEST(GivenUpTest, WhoCanHearNothingMoreSaysWhyUnlessTheEndIsRecorded) {
  for (const bool recorded : {false, true}) {
    EventLoop loop;
    SystemClock clock;
    EndedJob source(loop, /*tells=*/false);
    if (recorded) source.events = {{1, 0, core::JobEnded{}}};
    Watcher watcher([] {});
    Submission submission(loop, clock, {.answer_deadline = kPatience}, source, watcher);
    loop.Post([&] { submission.GiveUp(absl::ResourceExhaustedError("no thread")); });
    EXPECT_EQ(submission.FollowToEnd().status(),
              recorded ? absl::OkStatus() : absl::ResourceExhaustedError("no thread"));
  }
}

TEST_F(EndedJobTest, CtrlCEndsTheReading) {
  source_.failed_reads = 1'000'000;
  const auto interrupt = loop_.After(std::chrono::milliseconds(50), [] { ::raise(SIGINT); });
  const auto verdict = Follow(kPatience);
  EXPECT_EQ(verdict.status(), absl::UnavailableError("it has ended"));
}

}  // namespace
}  // namespace tony::client
