// The protocol with servers of the test's own: what a real cluster shows rarely or never.
#include "backend/yarn/yarn_backend.h"

#include "gmock/gmock.h"
#include "tests/backend/yarn/fake_yarn.h"

namespace tony::backend {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNotRegistered[] =
    "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException";

TEST_F(YarnBackendTest, ARestartedResourceManagerIsToldEverythingAgain) {
  MakeBackend();
  Grant(1);
  backend_->Request({{.type = "ps", .count = 3, .resources = {.memory_mb = 64, .vcores = 1}}});
  ASSERT_TRUE(IsAsked(3));
  *next_.add_allocated_containers() = Container(2, ask_id_);
  ASSERT_TRUE(Says("granted " + Id(2) + " ps"));
  backend_->Kill(Id(1));
  ASSERT_TRUE(IsGivenBack(Id(1)));
  throws_ = kNotRegistered;
  ASSERT_TRUE(IsTold([&](const yarn::AllocateRequestProto& request) {
    return request.response_id() == 0 && request.ask_size() == 1 &&
           request.ask(0).num_containers() == 2 && request.release_size() == 1;
  })) << "two of three are missing, and one release is not confirmed";
  EXPECT_EQ(std::count(manager_.calls.begin(), manager_.calls.end(), "registerApplicationMaster"),
            2);
  EXPECT_THAT(lines_, ElementsAre("registered q"));
}

TEST_F(YarnBackendTest, AnAttemptThatDoesNotCountAnyMoreSaysSoAndIsSilent) {
  for (const char* const exception :
       {"org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException",
        "org.apache.hadoop.security.token.SecretManager$InvalidToken"}) {
    MakeBackend();
    ASSERT_TRUE(Says("registered"));
    throws_ = exception;
    ASSERT_TRUE(Says("deposed this attempt is not the one that counts any more")) << exception;
    const size_t calls = manager_.calls.size();
    backend_->Request({{.type = "worker", .count = 1, .resources = {.memory_mb = 1}}});
    bool late = false;
    const auto timer = driver_.loop().After(milliseconds(30), [&] {
      late = true;
      driver_.Changed();
    });
    ASSERT_TRUE(driver_.Await([&] { return late; }));
    EXPECT_EQ(manager_.calls.size(), calls);
    EXPECT_THAT(lines_, IsEmpty());
  }
}

TEST_F(YarnBackendTest, ACommandToShutDownDeposes) {
  next_.set_a_m_command(yarn::AM_SHUTDOWN);
  MakeBackend();
  EXPECT_TRUE(Says("deposed"));
}

TEST_F(YarnBackendTest, ARegistrationThatIsRefusedFails) {
  manager_.methods["registerApplicationMaster"] = [](const std::string&) {
    return absl::UnknownError("org.apache.hadoop.security.AccessControlException");
  };
  MakeBackend();
  EXPECT_TRUE(Says("failed PERMISSION_DENIED: cannot register with the ResourceManager"));
}

TEST_F(YarnBackendTest, AHeartbeatThatFailsIsRepeatedWithWhatItHadToTell) {
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  throws_at_ask_ = "java.lang.NullPointerException";
  backend_->Request({{.type = "worker", .count = 2, .resources = {.memory_mb = 1}}});
  ASSERT_TRUE(IsAsked(2));
  EXPECT_TRUE(IsAsked(2));
}

TEST_F(YarnBackendTest, ANewTokenIsForTheNextConnection) {
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  const hadoop::Token token{.identifier = "new", .password = "other secret"};
  *next_.mutable_am_rm_token() = hadoop::MessageOf(token);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(IsTold([](const auto&) { return true; }));
  manager_.SetToken(token);
  manager_.server().CloseConnections();
  Grant(1);
  EXPECT_EQ(manager_.server().accepted(), 2);
}

TEST_F(YarnBackendTest, WhatTheResourceManagerRefusesIsRefusedOnce) {
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  throws_at_ask_ = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException";
  backend_->Request({{.type = "worker", .count = 1, .resources = {.memory_mb = 1}}});
  ASSERT_TRUE(Says("refused now YARN refuses the request: allocate: InvalidResourceRequest"));
  ASSERT_TRUE(IsTold([](const auto& request) { return request.ask().empty(); }));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(YarnBackendTest, AClusterWithoutPlacementConstraintsIsNamed) {
  options_.allocation.placements["worker"].tags = {"w"};
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  throws_at_ask_ =
      "org.apache.hadoop.yarn.exceptions.YarnException: Found non empty SchedulingRequest, but the "
      "configured handler cannot handle placement constraints";
  backend_->Request({{.type = "worker", .count = 1, .resources = {.memory_mb = 1}}});
  ASSERT_TRUE(Says("refused now YARN refuses the request: "));
  EXPECT_THAT(last_, HasSubstr("cannot handle placement constraints; the cluster's administrator "
                               "has to set yarn.resourcemanager.placement-constraints.handler to "
                               "scheduler, or the job to do without placement-spec and "
                               "allocation-tags"));
  ASSERT_TRUE(IsTold([](const auto& request) { return request.scheduling_requests().empty(); }));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(YarnBackendTest, WhatTheResourceManagerGivesUpIsAskedForAgain) {
  auto& placement = options_.allocation.placements["worker"];
  placement = {.tags = {"w"}, .constraint = jobfile::ParsePlacement("notin,node,w").value()};
  options_.waiting_notice = milliseconds(20);
  MakeBackend();
  backend_->Request({{.type = "worker", .count = 3, .resources = {.memory_mb = 1, .vcores = 1}}});
  yarn::SchedulingRequestProto asked;
  const auto is_asked = [&](int count) {
    return IsTold([&](const yarn::AllocateRequestProto& request) {
      if (request.scheduling_requests().empty()) return false;
      asked = request.scheduling_requests(0);
      return asked.resourcesizing().numallocations() == count;
    });
  };
  ASSERT_TRUE(is_asked(3));
  *next_.add_allocated_containers() = Container(1, asked.allocationrequestid());
  auto& rejected = *next_.add_rejected_scheduling_requests();
  rejected.set_reason(yarn::RRP_COULD_NOT_PLACE_ON_NODE);
  *rejected.mutable_request() = asked;
  rejected.mutable_request()->mutable_resourcesizing()->set_numallocations(1);
  ASSERT_TRUE(Says("granted " + Id(1)));
  ASSERT_TRUE(
      Says("waiting from YARN's queue q are still to come: 2 worker (1 MiB, 1 core, placed "
           "notin,node,w); YARN has given up 1 worker, since no node with room is one "
           "where its placement constraint holds, and is asked again"));
  ASSERT_TRUE(is_asked(1));
  *next_.add_allocated_containers() = Container(2, asked.allocationrequestid());
  EXPECT_TRUE(Says("granted " + Id(2)));
}

TEST_F(YarnBackendTest, ATypeHasVariablesOfItsOwn) {
  options_.environment = {{"worker", {"IMAGE=w"}}, {"ps", {"IMAGE=p"}}};
  MakeBackend();
  Grant(1);
  Run();
  const auto& launch = starts_.front().start_container_request(0).container_launch_context();
  ASSERT_EQ(launch.environment_size(), 2);
  EXPECT_EQ(launch.environment(0).key(), "IMAGE");
  EXPECT_EQ(launch.environment(0).value(), "w");
}

TEST_F(YarnBackendTest, ContainersThatNobodyAsksForAreGivenBack) {
  MakeBackend();
  Grant(1);
  *next_.add_allocated_containers() = Container(2, ask_id_);
  EXPECT_TRUE(IsGivenBack(Id(2)));
  backend_->Request({{.type = "worker", .count = 1, .resources = {.memory_mb = 512}}});
  ASSERT_TRUE(IsAsked(1));
  backend_->CancelRequests();
  const int64_t cancelled = ask_id_;
  EXPECT_TRUE(IsAsked(0));
  *next_.add_allocated_containers() = Container(3, cancelled);
  EXPECT_TRUE(IsGivenBack(Id(3)));
}

TEST_F(YarnBackendTest, StartsForOneNodeGoInOneCallAndEachHasItsAnswer) {
  MakeBackend();
  Grant(3);
  yarn::StartContainersResponseProto answer;
  const auto fail = [&](int number, const std::string& why) {
    auto* const failed = answer.add_failed_requests();
    *failed->mutable_container_id() = Container(number, 0).id();
    failed->mutable_exception()->set_class_name("org.apache.hadoop.yarn.exceptions.YarnException");
    failed->mutable_exception()->set_message(why);
  };
  fail(1, "Container x already is running on this node!!");  // the first answer was lost
  fail(2, "no");
  start_answer_ = answer.SerializeAsString();
  for (int i = 1; i <= 3; ++i) backend_->Launch(Id(i), {.arguments = {absl::StrCat("a", i)}});
  ASSERT_TRUE(Says("ended " + Id(2) + " lost seen its node 127.0.0.1:"));
  EXPECT_THAT(last_, HasSubstr("did not start it: YarnException: no"));
  ASSERT_EQ(starts_.size(), 1u);
  ASSERT_EQ(starts_[0].start_container_request_size(), 3);
  EXPECT_THAT(starts_[0].start_container_request(1).container_launch_context().command(0),
              HasSubstr("a2"));
  EXPECT_TRUE(IsGivenBack(Id(2)));
  *next_.add_completed_container_statuses() = Complete(1, 5, "");
  *next_.add_completed_container_statuses() =
      Complete(2, -100, "Container released by application");
  *next_.add_completed_container_statuses() = Complete(3, 0, "");
  EXPECT_TRUE(Says("ended " + Id(1) + " exited seen tony-executor exited with code 5"));
  EXPECT_TRUE(Says("ended " + Id(3) + " exited seen tony-executor exited with code 0"));
  EXPECT_THAT(lines_, ElementsAre("registered q")) << "the second has ended once";
}

TEST_F(YarnBackendTest, ANodeThatDoesNotAnswerAStartMayHaveTakenIt) {
  options_.start_timeout = milliseconds(50);
  MakeBackend();
  Grant(1);
  start_answer_ = absl::UnavailableError("silent");
  backend_->Launch(Id(1), {});
  EXPECT_TRUE(Says("ended " + Id(1) + " lost unseen"));
  EXPECT_TRUE(IsGivenBack(Id(1)));
}

TEST_F(YarnBackendTest, AContainerWithoutCredentialsIsNotStarted) {
  options_.launch.tokens = [](const std::string&) { return absl::NotFoundError("no key"); };
  MakeBackend();
  Grant(1);
  backend_->Launch(Id(1), {});
  EXPECT_TRUE(Says("ended " + Id(1) + " exited seen no key"));
  EXPECT_TRUE(IsGivenBack(Id(1)));
  EXPECT_THAT(starts_, IsEmpty());
}

TEST_F(YarnBackendTest, TheEndOfAKilledContainerIsAskedOfItsNode) {
  MakeBackend();
  Grant(1);
  Run();
  backend_->Kill(Id(1));
  *statuses_.add_status() = Complete(1, -105, "");
  EXPECT_TRUE(Says("ended " + Id(1) + " lost seen tony-am had it stopped"));
}

TEST_F(YarnBackendTest, AContainerThatIsKilledWhileItStartsIsStoppedThen) {
  MakeBackend();
  Grant(1);
  backend_->Launch(Id(1), {});
  backend_->Kill(Id(1));
  *statuses_.add_status() = Complete(1, 143, "");
  EXPECT_TRUE(Says("ended " + Id(1) + " lost seen"));
  EXPECT_EQ(node_.calls.at(0), "startContainers");
  EXPECT_EQ(node_.calls.at(1), "stopContainers");
}

TEST_F(YarnBackendTest, WhatASilentNodeDoesNotStopIsGivenBackAndSeenByNobody) {
  options_.kill_timeout = milliseconds(40);
  MakeBackend();
  Grant(2);
  Run();
  backend_->Launch(Id(2), {});
  stop_answer_ = absl::UnavailableError("silent");
  backend_->Kill(Id(1));
  ASSERT_TRUE(IsGivenBack(Id(1)));
  *next_.add_completed_container_statuses() =
      Complete(1, -100, "Container released by application");
  EXPECT_TRUE(Says("ended " + Id(1) +
                   " lost unseen it was given back to YARN, and nobody saw its processes end"));
  backend_->Kill(Id(2));  // of which the ResourceManager says nothing either
  EXPECT_TRUE(Says("ended " + Id(2) + " lost unseen it was killed, and neither its node nor"));
}

TEST_F(YarnBackendTest, AContainerThatWasNeverUsedIsGivenBackWithoutAnEvent) {
  MakeBackend();
  Grant(2);
  backend_->Kill(Id(1));
  ASSERT_TRUE(IsGivenBack(Id(1)));
  *next_.add_completed_container_statuses() =
      Complete(1, -100, "Container released by application");
  *next_.add_completed_container_statuses() =
      Complete(2, -100, "Container released on a *lost* node");
  EXPECT_TRUE(Says("ended " + Id(2) + " lost seen its node was lost")) << "nothing ran in it";
  EXPECT_THAT(lines_, ElementsAre("registered q"));
}

TEST_F(YarnBackendTest, ContainersOfAnEarlierAttemptAreTakenOverAlsoWhenTheyComeLate) {
  *registration_.add_containers_from_previous_attempts() = Container(1, 0);
  *registration_.add_containers_from_previous_attempts() = Container(2, 0);
  *registration_.add_nm_tokens_from_previous_attempts() = NodeToken();
  MakeBackend();
  backend_->Reclaim({{.id = Id(1), .type = "worker"}, {.id = Id(3), .type = "worker"}});
  ASSERT_TRUE(IsGivenBack(Id(2))) << "nobody needs it";
  *next_.add_containers_from_previous_attempts() = Container(3, 0);
  *next_.add_containers_from_previous_attempts() = Container(4, 0);
  ASSERT_TRUE(IsGivenBack(Id(4)));
  for (const int number : {1, 3}) {
    backend_->Kill(Id(number));
    *statuses_.add_status() = Complete(number, -105, "");
    EXPECT_TRUE(Says(absl::StrCat("ended ", Id(number), " lost seen tony-am had it stopped")));
  }
}

TEST_F(YarnBackendTest, WhatNobodyReclaimsIsGivenBackWithTheFirstOtherCall) {
  *registration_.add_containers_from_previous_attempts() = Container(1, 0);
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  ASSERT_TRUE(IsTold([](const auto& request) { return request.release().empty(); }));
  backend_->Request({});
  EXPECT_TRUE(IsGivenBack(Id(1)));
}

TEST_F(YarnBackendTest, WhatIsReclaimedAndNowhereEndsUnseen) {
  options_.reclaim_timeout = milliseconds(300);
  MakeBackend();
  backend_->Reclaim({{.id = Id(1), .type = "worker"}, {.id = Id(2), .type = "worker"}});
  *next_.add_completed_container_statuses() = Complete(2, 0, "");
  EXPECT_TRUE(Says("ended " + Id(2) + " exited seen tony-executor exited with code 0"));
  EXPECT_TRUE(Says("ended " + Id(1) + " lost unseen YARN knows nothing of it any more"));
}

TEST_F(YarnBackendTest, ANodeWithTwoFailedLaunchesIsLeftOut) {
  MakeBackend();
  Grant(2);
  for (const int number : {1, 2}) {
    backend_->Launch(Id(number), {});
    *next_.add_completed_container_statuses() = Complete(number, -1000, "No such file");
    ASSERT_TRUE(Says(absl::StrCat("ended ", Id(number),
                                  " lost seen its node could not prepare what it needs: No such")));
  }
  EXPECT_TRUE(Says("warning node 127.0.0.1:"));
  EXPECT_TRUE(IsTold([](const yarn::AllocateRequestProto& request) {
    return request.blacklist_request().blacklist_additions_size() == 2 &&
           request.blacklist_request().blacklist_additions(1) == "127.0.0.1";
  }));
}

TEST_F(YarnBackendTest, PreemptionIsWarnedOfOnceAndAgainWhenItIsCertain) {
  MakeBackend();
  Grant(1);
  const auto id = Container(1, 0).id();
  *next_.mutable_preempt()->mutable_contract()->add_container()->mutable_id() = id;
  EXPECT_TRUE(Says("warning YARN may take back container " + Id(1) + " (worker) on 127.0.0.1"));
  *next_.mutable_preempt()->mutable_contract()->add_container()->mutable_id() = id;
  ASSERT_TRUE(IsTold([](const auto&) { return true; }));
  *next_.mutable_preempt()->mutable_strictcontract()->add_container()->mutable_id() = id;
  EXPECT_TRUE(Says("warning YARN will take back container " + Id(1)));
  EXPECT_THAT(lines_, ElementsAre("registered q"));
}

TEST_F(YarnBackendTest, WaitsAreTold) {
  options_.waiting_notice = milliseconds(20);
  MakeBackend();
  backend_->Request({{.type = "worker", .count = 2, .resources = {.memory_mb = 64, .vcores = 1}}});
  EXPECT_TRUE(
      Says("waiting from YARN's queue q are still to come: 2 worker (64 MiB, 1 core) | "
           "other applications of the queue"));
  manager_.methods["allocate"] = [](const std::string&) {
    return absl::UnavailableError("silent");
  };
  EXPECT_TRUE(
      Says("waiting from YARN's queue q are still to come: 2 worker (64 MiB, 1 core); the "
           "ResourceManager does not answer | the cluster's ResourceManager"));
}

TEST_F(YarnBackendTest, AResourceManagerThatIsAwayForTooLongIsAFailure) {
  options_.away_limit = milliseconds(60);
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  manager_.methods["allocate"] = [](const std::string&) {
    return absl::UnavailableError("silent");
  };
  EXPECT_TRUE(Says("failed DEADLINE_EXCEEDED: the ResourceManager is away for too long"));
}

TEST_F(YarnBackendTest, FinishingIsRepeatedUntilItIsWrittenDown) {
  finish_calls_ = 3;
  MakeBackend();
  const auto finish = [this] {
    backend_->Finish(YarnBackend::FinalStatus::kSucceeded, "", "",
                     [this](const absl::Status& status) { Said("finished " + status.ToString()); });
  };
  finish();  // while it registers
  EXPECT_TRUE(Says("finished OK"));
  EXPECT_EQ(std::count(manager_.calls.begin(), manager_.calls.end(), "finishApplicationMaster"), 3);
  finish();
  EXPECT_TRUE(Says("finished FAILED_PRECONDITION"));
}

TEST_F(YarnBackendTest, FinishingRegistersWithARestartedResourceManager) {
  MakeBackend();
  ASSERT_TRUE(Says("registered"));
  manager_.methods["finishApplicationMaster"] =
      [this, good = manager_.methods["finishApplicationMaster"]](
          const std::string& request) -> absl::StatusOr<std::string> {
    if (std::count(manager_.calls.begin(), manager_.calls.end(), "registerApplicationMaster") < 2) {
      return absl::UnknownError(kNotRegistered);
    }
    return good(request);
  };
  backend_->Finish(YarnBackend::FinalStatus::kKilled, "why", "url",
                   [this](const absl::Status& status) { Said("finished " + status.ToString()); });
  EXPECT_TRUE(Says("finished OK"));
}

}  // namespace
}  // namespace tony::backend
