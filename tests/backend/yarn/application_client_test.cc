// Tests a client's requests to a ResourceManager, and its reading of the answers.
#include "backend/yarn/application_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stop_token>
#include <thread>

#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/common/loop_driver.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kId[] = "application_1700000000000_0042";

std::string Message(const absl::Status& status) { return std::string(status.message()); }

yarn::ApplicationReportProto ReportOf(yarn::YarnApplicationStateProto state) {
  yarn::ApplicationReportProto report;
  report.mutable_applicationid()->set_cluster_timestamp(1700000000000);
  report.mutable_applicationid()->set_id(42);
  report.set_yarn_application_state(state);
  return report;
}

class ApplicationClientTest : public testing::Test {
 protected:
  FakeResourceManager manager_;
  ApplicationClient client_{manager_.client(), kPatience};
};

// Nobody has to wait for the answer's deadline.
TEST_F(ApplicationClientTest, ACallIsStopped) {
  std::promise<void> asked;
  manager_.Answer("getApplicationReport", [&asked](const std::string&) {
    asked.set_value();
    return absl::UnavailableError("no answer");
  });
  std::stop_source stop;
  ApplicationClient client(manager_.client(), std::chrono::hours(1), stop.get_token());
  const std::jthread stopper([&] {
    asked.get_future().wait();
    stop.request_stop();
  });
  const absl::Status stopped = client.Report(kId).status();
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_TRUE(absl::IsCancelled(client.Report(kId).status())) << "nor is anything asked again";
}

TEST_F(ApplicationClientTest, AnApplicationIsMade) {
  manager_.Answer("getNewApplication", [](const std::string&) {
    yarn::GetNewApplicationResponseProto response;
    response.mutable_application_id()->set_cluster_timestamp(1700000000000);
    response.mutable_application_id()->set_id(42);
    response.mutable_maximumcapability()->set_memory(4096);
    response.mutable_maximumcapability()->set_virtual_cores(8);
    for (const auto& [name, amount] :
         {std::pair("memory-mb", 4096), std::pair("x.io/card", 3), std::pair("tpu", 2)}) {
      auto* const item = response.mutable_maximumcapability()->add_resource_value_map();
      item->set_key(name);
      item->set_value(amount);
    }
    return response.SerializeAsString();
  });
  const auto created = client_.Create("x.io/card");
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->id, kId);
  EXPECT_EQ(created->largest.memory_mb, 4096);
  EXPECT_EQ(created->largest.vcores, 8);
  EXPECT_EQ(created->largest.gpus, 3);
  EXPECT_THAT(created->largest_others, ElementsAre(testing::Pair("tpu", 2)));
}

TEST_F(ApplicationClientTest, ItsLabelsAreKnown) {
  manager_.Answer("getClusterNodeLabels", [](const std::string&) {
    yarn::GetClusterNodeLabelsResponseProto response;
    for (const char* const name : {"gpu", "cpu"}) response.add_nodelabels()->set_name(name);
    return response.SerializeAsString();
  });
  EXPECT_THAT(client_.NodeLabels().value(), ElementsAre("cpu", "gpu"));
}

TEST_F(ApplicationClientTest, IdsHaveFourDigitsOrMore) {
  for (const auto& [number, expected] :
       {std::pair(1, "application_7_0001"), std::pair(123456, "application_7_123456")}) {
    manager_.Answer("getNewApplication", [number = number](const std::string&) {
      yarn::GetNewApplicationResponseProto response;
      response.mutable_application_id()->set_cluster_timestamp(7);
      response.mutable_application_id()->set_id(number);
      return response.SerializeAsString();
    });
    EXPECT_EQ(client_.Create("")->id, expected);
    EXPECT_TRUE(IsApplicationId(expected));
  }
}

TEST_F(ApplicationClientTest, AJobIsSubmittedWithAllThatIsSaidOfIt) {
  manager_.Answer("submitApplication", [](const std::string&) { return ""; });
  ApplicationRequest request{.id = kId,
                             .name = "mnist",
                             .type = "TONY",
                             .queue = "train",
                             .tags = {"a", "b"},
                             .priority = 7,
                             .resources = {.memory_mb = 512, .vcores = 2},
                             .max_attempts = 3};
  request.launch.command = {"./am"};
  request.launch.tokens = [](const std::string&) { return "tokens"; };
  request.launch.view_acl = "bob";
  ASSERT_EQ(client_.Submit(request), absl::OkStatus());
  const auto context = manager_.Last<yarn::SubmitApplicationRequestProto>("submitApplication")
                           .application_submission_context();
  EXPECT_EQ(context.application_id().id(), 42);
  EXPECT_EQ(context.application_name(), "mnist");
  EXPECT_EQ(context.applicationtype(), "TONY");
  EXPECT_EQ(context.queue(), "train");
  EXPECT_THAT(context.applicationtags(), ElementsAre("tony", "a", "b"));
  EXPECT_EQ(context.priority().priority(), 7);
  EXPECT_EQ(context.maxappattempts(), 3);
  EXPECT_TRUE(context.keep_containers_across_application_attempts());
  EXPECT_EQ(context.resource().memory(), 512);
  EXPECT_EQ(context.resource().virtual_cores(), 2);
  EXPECT_TRUE(context.am_container_resource_request().empty());
  EXPECT_EQ(context.am_container_spec().tokens(), "tokens");
  // With a label it is the ask that has it, since the context's own would be the whole job's.
  request.node_label = "gpu";
  ASSERT_EQ(client_.Submit(request), absl::OkStatus());
  const auto labelled = manager_.Last<yarn::SubmitApplicationRequestProto>("submitApplication")
                            .application_submission_context();
  EXPECT_FALSE(labelled.has_node_label_expression());
  ASSERT_EQ(labelled.am_container_resource_request().size(), 1);
  EXPECT_EQ(labelled.am_container_resource_request(0).node_label_expression(), "gpu");
  EXPECT_EQ(labelled.am_container_resource_request(0).capability().memory(), 512);
}

TEST_F(ApplicationClientTest, RefusalsHaveCodes) {
  const std::pair<const char*, absl::StatusCode> cases[] = {
      {"org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException",
       absl::StatusCode::kInvalidArgument},
      {"org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
       absl::StatusCode::kNotFound},
      {"org.apache.hadoop.security.AccessControlException", absl::StatusCode::kPermissionDenied}};
  for (const auto& [thrown, code] : cases) {
    for (const char* const name :
         {"submitApplication", "getApplicationReport", "forceKillApplication", "getApplications"}) {
      manager_.Throw(name, thrown);
    }
    EXPECT_EQ(client_.Submit({.id = kId}).code(), code);
    EXPECT_EQ(client_.Report(kId).status().code(), code);
    EXPECT_EQ(client_.Kill(kId, "").code(), code);
    EXPECT_EQ(client_.List("ann").status().code(), code);
  }
}

TEST_F(ApplicationClientTest, WhatIsNoIdIsNotAskedFor) {
  for (const char* const id :
       {"", "latest", "application_1_", "application_1_0", "application_-1_1", "job_1_1",
        "application_1_1_1", "application_1_99999999999", "application_ 1_1x"}) {
    EXPECT_FALSE(IsApplicationId(id)) << id;
    const absl::Status status = client_.Report(id).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(id));
    EXPECT_TRUE(absl::IsInvalidArgument(client_.Kill(id, ""))) << id;
    EXPECT_TRUE(absl::IsInvalidArgument(client_.Submit({.id = id}))) << id;
  }
}

TEST_F(ApplicationClientTest, AReportSaysWhereTheMasterIsOnceItHasRegistered) {
  yarn::ApplicationReportProto proto = ReportOf(yarn::ACCEPTED);
  proto.set_host("N/A");
  proto.set_rpc_port(-1);
  proto.set_queue("train");
  proto.mutable_currentapplicationattemptid()->set_attemptid(-1);
  manager_.AnswerReport(proto);
  auto report = client_.Report(kId);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->id, kId);
  EXPECT_EQ(report->state, ApplicationState::kAccepted);
  EXPECT_EQ(report->host, "");
  EXPECT_EQ(report->attempt, -1);
  // The text of nobody's diagnostics, "N/A", is none.
  EXPECT_EQ(report->diagnostics, "");

  proto.set_yarn_application_state(yarn::FINISHED);
  proto.set_host("node1");
  proto.set_rpc_port(4711);
  proto.set_diagnostics("done");
  proto.mutable_currentapplicationattemptid()->set_attemptid(2);
  proto.set_finishtime(1700000001000);
  manager_.AnswerReport(proto);
  report = client_.Report(kId);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->over());
  EXPECT_EQ(report->host, "node1");
  EXPECT_EQ(report->port, 4711);
  EXPECT_EQ(report->diagnostics, "done");
  EXPECT_EQ(report->attempt, 2);
  EXPECT_EQ(report->finished_millis, 1700000001000);
}

TEST_F(ApplicationClientTest, StatesAreThoseOfYarn) {
  const std::pair<yarn::YarnApplicationStateProto, ApplicationState> cases[] = {
      {yarn::NEW, ApplicationState::kSubmitted},
      {yarn::NEW_SAVING, ApplicationState::kSubmitted},
      {yarn::SUBMITTED, ApplicationState::kSubmitted},
      {yarn::ACCEPTED, ApplicationState::kAccepted},
      {yarn::RUNNING, ApplicationState::kRunning},
      {yarn::FINISHED, ApplicationState::kFinished},
      {yarn::FAILED, ApplicationState::kFailed},
      {yarn::KILLED, ApplicationState::kKilled}};
  for (const auto& [theirs, ours] : cases) {
    manager_.AnswerReport(ReportOf(theirs));
    EXPECT_EQ(client_.Report(kId)->state, ours) << theirs;
  }
}

TEST_F(ApplicationClientTest, TheEndIsTheMastersOwnWord) {
  for (const auto& [status, expected] : {std::pair(yarn::APP_UNDEFINED, FinalStatus::kUnknown),
                                         std::pair(yarn::APP_SUCCEEDED, FinalStatus::kSucceeded),
                                         std::pair(yarn::APP_FAILED, FinalStatus::kFailed),
                                         std::pair(yarn::APP_KILLED, FinalStatus::kKilled),
                                         std::pair(yarn::APP_ENDED, FinalStatus::kUnknown)}) {
    yarn::ApplicationReportProto report = ReportOf(yarn::FINISHED);
    report.set_final_application_status(status);
    manager_.AnswerReport(report);
    EXPECT_EQ(client_.Report(kId)->final_status, expected) << status;
  }
}

TEST(ApplicationClient, IdsAreComparedByTheirNumbers) {
  // The start of the ResourceManager first, however long the count, and both as numbers.
  const std::vector<std::string> ids = {
      "no id", "application_999_0001", "application_1700000000000_9999",
      "application_1700000000000_10000", "application_1700000000001_0001"};
  for (size_t left = 0; left < ids.size(); ++left) {
    for (size_t right = 0; right < ids.size(); ++right) {
      EXPECT_EQ(IsOlderApplication(ids[left], ids[right]), left < right)
          << ids[left] << " " << ids[right];
    }
  }
}

TEST_F(ApplicationClientTest, OnlyOursAreListed) {
  manager_.Answer("getApplications", [](const std::string&) {
    yarn::GetApplicationsResponseProto response;
    *response.add_applications() = ReportOf(yarn::RUNNING);
    return response.SerializeAsString();
  });
  const auto reports = client_.List("ann");
  ASSERT_TRUE(reports.ok()) << reports.status();
  ASSERT_EQ(reports->size(), 1);
  EXPECT_EQ(reports->front().id, kId);
  const auto request = manager_.Last<yarn::GetApplicationsRequestProto>("getApplications");
  EXPECT_THAT(request.users(), ElementsAre("ann"));
  EXPECT_THAT(request.applicationtags(), ElementsAre("tony"));
}

TEST_F(ApplicationClientTest, AKillHasItsReason) {
  manager_.Answer("forceKillApplication", [](const std::string&) { return ""; });
  EXPECT_EQ(client_.Kill(kId, "for tea"), absl::OkStatus());
  EXPECT_EQ(manager_.Last<yarn::KillApplicationRequestProto>("forceKillApplication").diagnostics(),
            "for tea");
}

TEST_F(ApplicationClientTest, AnAnswerThatIsNoneIsDataLoss) {
  manager_.Answer("getApplicationReport", [](const std::string&) { return "\xff\xff"; });
  EXPECT_TRUE(absl::IsDataLoss(client_.Report(kId).status()));
}

TEST(ApplicationClient, NobodyThereTakesNoLongerThanTheTimeout) {
  hadoop::RpcClientOptions options;
  {
    FakeResourceManager gone;
    options = gone.client();
  }
  ApplicationClient client(options, milliseconds(50));
  const absl::Status status = client.Report(kId).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr(hadoop::ToString(options.servers.front())));
  EXPECT_THAT(Message(status), HasSubstr("tried again for 0.05 s"));
  EXPECT_THAT(Message(status), Not(HasSubstr("getApplicationReport: getApplicationReport")));
}

class ApplicationWatchTest : public testing::Test {
 protected:
  void Watch(Duration timeout = kPatience) {
    watch_ = std::make_unique<ApplicationWatch>(
        driver_.loop(), manager_.client(), kId, timeout,
        [this](const absl::StatusOr<ApplicationReport>& report) {
          told_.push_back(report.ok()
                              ? report->diagnostics
                              : std::string(absl::StatusCodeToString(report.status().code())));
          driver_.Changed();
          when_told_();
        });
  }
  void Diagnose(const std::string& text) {
    yarn::ApplicationReportProto report = ReportOf(yarn::ACCEPTED);
    report.set_diagnostics(text);
    manager_.AnswerReport(report);
  }
  bool IsTold(size_t times) {
    return driver_.Await([&] { return told_.size() >= times; });
  }

  LoopDriver driver_;
  FakeResourceManager manager_;
  std::vector<std::string> told_;
  std::function<void()> when_told_ = [] {};
  std::unique_ptr<ApplicationWatch> watch_;
};

TEST_F(ApplicationWatchTest, AsksAgainAndAgainAlsoAfterErrors) {
  Watch();
  Diagnose("first");
  watch_->Start(milliseconds(1));
  ASSERT_TRUE(IsTold(1));
  manager_.Throw("getApplicationReport", "x.ApplicationNotFoundException");
  ASSERT_TRUE(driver_.Await([&] { return told_.back() == "NOT_FOUND"; }));
  Diagnose("last");
  ASSERT_TRUE(driver_.Await([&] { return told_.back() == "last"; }));
}

TEST_F(ApplicationWatchTest, TellsThatNobodyAnswers) {
  Watch(milliseconds(20));
  manager_.Answer("getApplicationReport",
                  [](const std::string&) { return absl::UnavailableError("away"); });
  watch_->Start(milliseconds(1));
  ASSERT_TRUE(IsTold(2));
  EXPECT_EQ(told_[1], "DEADLINE_EXCEEDED");
}

// It may be stopped, and started anew, by what it calls.
TEST_F(ApplicationWatchTest, IsStoppedAndStartedAgain) {
  Watch();
  Diagnose("text");
  when_told_ = [this] { watch_->Stop(); };
  watch_->Start(milliseconds(1));
  ASSERT_TRUE(IsTold(1));
  bool later = false;
  const auto timer = driver_.loop().After(milliseconds(50), [&] {
    later = true;
    driver_.Changed();
  });
  ASSERT_TRUE(driver_.Await([&] { return later; }));
  EXPECT_EQ(told_.size(), 1);
  EXPECT_EQ(manager_.Calls("getApplicationReport"), 1);
  // The interval of the second start is the one that holds.
  when_told_ = [this] {
    if (told_.size() == 2) watch_->Start(std::chrono::hours(1));
  };
  watch_->Start(milliseconds(1));
  ASSERT_TRUE(IsTold(3));
  EXPECT_LE(manager_.Calls("getApplicationReport"), 4);
}

TEST_F(ApplicationWatchTest, WhoIsGoneIsNotTold) {
  Watch();
  manager_.Answer("getApplicationReport",
                  [](const std::string&) { return absl::UnavailableError("away"); });
  watch_->Start(milliseconds(1));
  ASSERT_TRUE(driver_.Await([&] {
    driver_.Changed();
    return manager_.Calls("getApplicationReport") > 0;
  }));
  watch_.reset();
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace tony::backend
