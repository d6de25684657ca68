// Following an application through a ResourceManager of the test's own.
#include "client/yarn/yarn_master_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/yarn/yarn_job.h"
#include "rpc/convert/event_json.h"
#include "rpc/security/certificate_authority.h"
#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/backend/yarn/yarn_configuration.h"
#include "tests/common/loop_driver.h"

namespace tony::client {
namespace {

namespace yarn = ::hadoop::yarn;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kId[] = "application_1700000000000_0042";

absl::Status Broken() { return absl::UnavailableError("broken"); }

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class YarnMasterSourceTest : public testing::Test {
 protected:
  YarnMasterSourceTest() {
    configuration_.SetResourceManager(manager_.endpoint());
    configuration_.options.staging_dir = folder_ / "staging";
    options_ = {
        .job_id = kId,
        .credentials = rpc::CertificateAuthority::Create(kId)->Issue(rpc::ClientRole(kId)).value(),
        .exit_deadline = kPatience,
        .lease = kPatience,
        .waiting_notice = kPatience};
    report_.mutable_applicationid()->set_cluster_timestamp(1700000000000);
    report_.mutable_applicationid()->set_id(42);
    report_.set_queue("train");
    report_.mutable_currentapplicationattemptid()->set_attemptid(1);
  }

  void Start() {
    source_.reset();
    cluster_ = std::make_unique<backend::YarnCluster>(configuration_.Find().value());
    source_ = std::make_unique<YarnMasterSource>(driver_.loop(), clock_, *cluster_, options_);
    source_->Start({.found =
                        [this](std::unique_ptr<rpc::JobClient> client) {
                          EXPECT_NE(client, nullptr);
                          ++found_;
                          when_found_();
                          driver_.Changed();
                        },
                    .over =
                        [this](const auto& verdict, const absl::Status& why) {
                          EXPECT_FALSE(over_);
                          over_ = true;
                          verdict_ = verdict;
                          why_ = why;
                          driver_.Changed();
                        }});
  }
  void Report(yarn::YarnApplicationStateProto state, const std::string& diagnostics = "",
              int port = 0) {
    report_.set_yarn_application_state(state);
    report_.set_diagnostics(diagnostics);
    report_.set_host(port == 0 ? "N/A" : "127.0.0.1");
    report_.set_rpc_port(port == 0 ? -1 : port);
    manager_.AnswerReport(report_);
  }
  void NobodyAnswers() {
    manager_.Answer("getApplicationReport",
                    [](const std::string&) { return absl::UnavailableError("away"); });
  }
  bool IsFound(int times) {
    return driver_.Await([&] { return found_ >= times; });
  }
  bool IsOver() {
    return driver_.Await([&] { return over_; });
  }
  /// Lets the loop run until the ResourceManager was asked so often again.
  bool IsAsked(int more) {
    const int before = manager_.Calls("getApplicationReport");
    return driver_.Await([&] {
      driver_.Changed();
      return manager_.Calls("getApplicationReport") >= before + more;
    });
  }
  absl::Status Abandon(const std::string& sentence) {
    std::optional<absl::Status> told;
    source_->Abandon(sentence, [&](const absl::Status& status) {
      told = status;
      driver_.Changed();
    });
    if (driver_.Await([&] { return told.has_value(); })) return *told;
    return absl::DeadlineExceededError("nothing was said");
  }
  void RunFor(milliseconds duration) {
    bool late = false;
    const auto timer = driver_.loop().After(duration, [&] {
      late = true;
      driver_.Changed();
    });
    ASSERT_TRUE(driver_.Await([&] { return late; }));
  }

  const os::TemporaryFolder folder_;
  backend::FakeResourceManager manager_;
  backend::YarnConfiguration configuration_;
  yarn::ApplicationReportProto report_;
  SystemClock clock_;
  LoopDriver driver_;
  YarnMasterSource::Options options_;
  std::unique_ptr<backend::YarnCluster> cluster_;
  int found_ = 0;
  bool over_ = false;
  std::optional<core::Verdict> verdict_;
  absl::Status why_;
  std::function<void()> when_found_ = [] {};
  std::unique_ptr<YarnMasterSource> source_;
};

TEST_F(YarnMasterSourceTest, FindsTheMasterOnceItHasRegistered) {
  Report(yarn::ACCEPTED);
  Start();
  ASSERT_TRUE(IsAsked(2));
  // The ApplicationMaster has not published its address yet.
  Report(yarn::RUNNING);
  ASSERT_TRUE(IsAsked(2));
  EXPECT_EQ(found_, 0);
  Report(yarn::RUNNING, "", 4711);
  ASSERT_TRUE(IsFound(1));
  // From now on the stream tells.
  const int calls = manager_.Calls("getApplicationReport");
  RunFor(milliseconds(250));
  EXPECT_EQ(manager_.Calls("getApplicationReport"), calls);
  EXPECT_EQ(found_, 1);
}

TEST_F(YarnMasterSourceTest, FindsTheNextOneWhenTheStreamHasBroken) {
  Report(yarn::RUNNING, "", 4711);
  Start();
  ASSERT_TRUE(IsFound(1));
  Report(yarn::ACCEPTED);
  source_->OnStreamClosed(Broken());
  ASSERT_TRUE(IsAsked(2));
  EXPECT_EQ(found_, 1);
  Report(yarn::RUNNING, "", 4712);
  ASSERT_TRUE(IsFound(2));
  EXPECT_FALSE(over_);
}

// YARN says for up to ten minutes that an ApplicationMaster runs whose node was lost.
TEST_F(YarnMasterSourceTest, OneThatIsNotThereIsNotTriedWithoutPause) {
  Report(yarn::RUNNING, "", 4711);
  when_found_ = [this] { driver_.loop().Post([this] { source_->OnStreamClosed(Broken()); }); };
  const TimePoint began = SystemClock().Now();
  testing::internal::CaptureStderr();
  Start();
  const bool found = IsFound(4);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found);
  // 0.1, 0.2 and 0.4 s: ever longer.
  EXPECT_GE(SystemClock().Now() - began, milliseconds(700));
  EXPECT_EQ(said,
            "no word from the ApplicationMaster at 127.0.0.1:4711: broken; trying again and "
            "again\n");
}

TEST_F(YarnMasterSourceTest, AnotherOneIsTriedAtOnceAndItsAnswerTold) {
  Report(yarn::RUNNING, "", 4711);
  when_found_ = [this] {
    if (found_ < 5) driver_.loop().Post([this] { source_->OnStreamClosed(Broken()); });
  };
  testing::internal::CaptureStderr();
  Start();
  bool found = IsFound(4);
  // The first one's pause is 0.8 s now, in which YARN is asked eight times.
  Report(yarn::RUNNING, "", 4712);
  const int before = manager_.Calls("getApplicationReport");
  found = IsFound(5) && found;
  const int asked = manager_.Calls("getApplicationReport") - before;
  source_->OnAnswer();
  source_->OnAnswer();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found);
  EXPECT_LE(asked, 2);
  EXPECT_THAT(said, EndsWith("the ApplicationMaster at 127.0.0.1:4712 answers; following the job "
                             "again\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

TEST_F(YarnMasterSourceTest, AfterTheLastWordOnlyTheEndIsAwaited) {
  Report(yarn::RUNNING, "", 4711);
  Start();
  ASSERT_TRUE(IsFound(1));
  source_->OnConcluded();
  source_->OnStreamClosed(absl::OkStatus());
  ASSERT_TRUE(IsAsked(2));
  EXPECT_EQ(found_, 1);
  EXPECT_FALSE(over_);
  Report(yarn::FINISHED, "SUCCEEDED", 4711);
  ASSERT_TRUE(IsOver());
  EXPECT_FALSE(verdict_.has_value());
  EXPECT_EQ(found_, 1);
}

TEST_F(YarnMasterSourceTest, TheEndIsAwaitedForSoLong) {
  options_.exit_deadline = milliseconds(20);
  Report(yarn::RUNNING, "", 4711);
  Start();
  ASSERT_TRUE(IsFound(1));
  // While the stream is still open.
  source_->OnConcluded();
  testing::internal::CaptureStderr();
  const bool over = IsOver();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(over);
  EXPECT_EQ(why_, absl::OkStatus());
  EXPECT_THAT(said, HasSubstr("YARN has not noted it"));
}

TEST_F(YarnMasterSourceTest, WhatAMasterHasToldYarnIsAVerdict) {
  const std::vector<std::pair<yarn::FinalApplicationStatusProto, core::Outcome>> ends = {
      {yarn::APP_SUCCEEDED, core::Outcome::kSucceeded},
      {yarn::APP_FAILED, core::Outcome::kFailed},
      {yarn::APP_KILLED, core::Outcome::kKilled}};
  for (const auto& [status, outcome] : ends) {
    over_ = false;
    report_.set_final_application_status(status);
    Report(yarn::FINISHED, "worker:0 has\nended");
    Start();
    ASSERT_TRUE(IsOver());
    ASSERT_TRUE(verdict_.has_value());
    EXPECT_EQ(verdict_->outcome, outcome);
    EXPECT_THAT(verdict_->sentence, EndsWith("worker:0 has ended"));
  }
}

TEST_F(YarnMasterSourceTest, WhatYarnHasKilledIsKilled) {
  Report(yarn::KILLED, "Application killed by user bob.\n\n");
  Start();
  ASSERT_TRUE(IsOver());
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_EQ(verdict_->outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict_->reason, core::Reason::kKilledByUser);
  EXPECT_EQ(verdict_->sentence, "YARN has killed the application: Application killed by user bob.");
}

TEST_F(YarnMasterSourceTest, WhatNeverHadAMasterWasRefused) {
  for (const int attempt : {-1, 0}) {
    over_ = false;
    report_.mutable_currentapplicationattemptid()->set_attemptid(attempt);
    Report(yarn::FAILED, "unknown queue: nobody");
    Start();
    ASSERT_TRUE(IsOver());
    EXPECT_FALSE(verdict_.has_value());
    EXPECT_TRUE(absl::IsInvalidArgument(why_)) << why_;
    EXPECT_THAT(Message(why_), HasSubstr("unknown queue: nobody"));
  }
}

TEST_F(YarnMasterSourceTest, WhatLostItsMastersHasFailed) {
  report_.mutable_currentapplicationattemptid()->set_attemptid(2);
  Report(yarn::FAILED, "failed 2 times\n\n  due to\tthis");
  Start();
  ASSERT_TRUE(IsOver());
  EXPECT_FALSE(verdict_.has_value());
  EXPECT_TRUE(absl::IsUnavailable(why_)) << why_;
  EXPECT_THAT(Message(why_), HasSubstr("failed 2 times due to this"));
}

TEST_F(YarnMasterSourceTest, WhatYarnDoesNotKnowIsOver) {
  manager_.Throw("getApplicationReport", "x.ApplicationNotFoundException");
  Start();
  ASSERT_TRUE(IsOver());
  EXPECT_TRUE(absl::IsNotFound(why_)) << why_;
}

TEST_F(YarnMasterSourceTest, AResourceManagerThatComesBackIsWaitedFor) {
  configuration_.options.timeout = milliseconds(20);
  NobodyAnswers();
  testing::internal::CaptureStderr();
  Start();
  ASSERT_TRUE(IsAsked(3));
  Report(yarn::RUNNING, "", 4711);
  const bool found = IsFound(1);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found);
  // Once, however often it was asked.
  EXPECT_THAT(said, HasSubstr("no word of the job at the moment: getApplicationReport"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(YarnMasterSourceTest, AResourceManagerThatStaysAwayEndsIt) {
  configuration_.options.timeout = milliseconds(20);
  options_.lease = milliseconds(100);
  NobodyAnswers();
  Start();
  ASSERT_TRUE(IsOver());
  EXPECT_FALSE(verdict_.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(why_)) << why_;
}

TEST_F(YarnMasterSourceTest, SaysWhatItWaitsForWhenThatChanges) {
  options_.waiting_notice = Duration::zero();
  Report(yarn::ACCEPTED, "AM container is launched,\n\nwaiting");
  testing::internal::CaptureStderr();
  Start();
  bool asked = IsAsked(3);
  Report(yarn::ACCEPTED, "the queue is full");
  asked = IsAsked(3) && asked;
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(asked);
  EXPECT_EQ(said,
            "waiting for YARN to start the ApplicationMaster in queue train: AM container is "
            "launched, waiting\n"
            "waiting for YARN to start the ApplicationMaster in queue train: the queue is full\n");
}

TEST_F(YarnMasterSourceTest, AShortWaitIsNotSpokenOf) {
  Report(yarn::ACCEPTED, "soon");
  testing::internal::CaptureStderr();
  Start();
  const bool asked = IsAsked(3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(asked);
}

TEST_F(YarnMasterSourceTest, AJobWithoutMasterIsKilledByYarn) {
  Report(yarn::ACCEPTED);
  manager_.Answer("forceKillApplication", [](const std::string&) { return ""; });
  Start();
  EXPECT_EQ(Abandon("Stopped by the user"), absl::OkStatus());
  const auto request = manager_.Last<yarn::KillApplicationRequestProto>("forceKillApplication");
  EXPECT_EQ(request.application_id().id(), 42);
  EXPECT_EQ(request.diagnostics(), "Stopped by the user");
  manager_.Throw("forceKillApplication", "x.AccessControlException");
  EXPECT_TRUE(absl::IsPermissionDenied(Abandon("again")));
}

TEST_F(YarnMasterSourceTest, ReadsWhatWasRecorded) {
  Report(yarn::ACCEPTED);
  Start();
  core::JobEvent event;
  event.body = core::JobEnded{};
  std::vector<std::string> lines;
  for (event.sequence = 1; event.sequence <= 3; ++event.sequence) {
    lines.push_back(rpc::EventToJsonLine(event) + "\n");
  }
  const std::string folder = cluster_->staging() + "/" + backend::JobFolderName(kId) + "/events/";
  os::Put(folder + "00000001.jsonl", lines[0] + "no event\n");
  os::Put(folder + "00000002.jsonl", lines[1] + lines[2]);
  std::vector<int64_t> sequences;
  const auto use = [&](int /*number*/, const absl::StatusOr<core::JobEvent>& read) {
    sequences.push_back(read.ok() ? read->sequence : -1);
    return sequences.size() < 3;
  };
  EXPECT_EQ(source_->ReadEvents(use), absl::OkStatus());
  EXPECT_THAT(sequences, ElementsAre(1, -1, 2));
}

TEST_F(YarnMasterSourceTest, WhatCannotBeReadIsAnError) {
  Report(yarn::ACCEPTED);
  Start();
  // A file where a folder should be.
  os::Put(cluster_->staging() + "/" + backend::JobFolderName(kId) + "/events", "");
  EXPECT_FALSE(source_->ReadEvents([](int, const auto&) { return true; }).ok());
}

}  // namespace
}  // namespace tony::client
