// Tests the additions of a Horovod task to its program: a real driver, its files, and the places of
// processes.
#include "executor/horovod/horovod_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/rendezvous/plan_text.h"
#include "core/rendezvous/worker_hosts.h"
#include "os/files/files.h"
#include "os/processes/subprocess.h"
#include "rpc/convert/convert.h"
#include "rpc/security/certificate_authority.h"
#include "tests/common/loop_driver.h"
#include "tests/os/network/network_support.h"
#include "tests/os/temporary_folder.h"
#include "tests/rendezvous/gloo_worker.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHere[] = "127.0.0.1";
constexpr char kElsewhere[] = "127.0.0.2";
// The name service refuses it without asking anybody.
constexpr char kNoHost[] = "no host";

core::Endpoint EndpointOf(const core::TaskId& task, const std::string& host) {
  return {.task = task, .host = host, .port = 1, .host_id = "machine of " + host};
}

/// The driver and worker 0 on one machine, worker 1 on another, and an evaluator.
core::ClusterSpec TwoMachines(const std::string& other = kElsewhere) {
  return {{EndpointOf({"driver", 0}, kHere), EndpointOf({"worker", 0}, kHere),
           EndpointOf({"worker", 1}, other), EndpointOf({"evaluator", 0}, kHere)}};
}

core::ClusterSpec OneMachine() {
  return {{EndpointOf({"driver", 0}, kHere), EndpointOf({"worker", 0}, kHere),
           EndpointOf({"worker", 1}, kHere)}};
}

/// The plan that the ApplicationMaster has from the driver for these workers.
core::RendezvousPlan PlanFor(const core::ClusterSpec& spec, bool loopback = true) {
  const auto hosts = core::ParseWorkerList(core::FormatWorkerList(core::WorkerHostsOf(spec)));
  return {.port = 4711, .loopback = loopback, .slots = core::PlanSlots(*hosts, 2).value()};
}

class HorovodTaskTest : public ::testing::Test {
 protected:
  static constexpr int kEpoch = 3;
  static constexpr int kAttempt = 5;

  static v1::Assignment AssignmentOf(const core::TaskId& task) {
    v1::Assignment assignment;
    assignment.mutable_task()->set_type(task.type);
    assignment.mutable_task()->set_index(task.index);
    assignment.set_command("the user's command");
    assignment.mutable_horovod()->set_rendezvous_timeout_ms(60'000);
    return assignment;
  }
  static v1::Assignment OwnDriver() {
    v1::Assignment assignment = AssignmentOf({"driver", 0});
    assignment.mutable_horovod()->set_own_driver(true);
    return assignment;
  }

  void Prepare(const v1::Assignment& assignment, const core::ClusterSpec& spec,
               const core::RendezvousPlan& plan = {}, int epoch = kEpoch) {
    v1::Start start;
    start.set_epoch(epoch);
    *start.mutable_plan() = rpc::ToProto(plan);
    ready_.reset();
    task_.Prepare(assignment, start, spec, kAttempt, working_, kReplicaPort,
                  [this](const absl::StatusOr<HorovodStart>& ready) {
                    EXPECT_FALSE(ready_.has_value()) << "called twice";
                    ready_ = ready;
                    driver_.Changed();
                  });
  }
  /// How the task is to start; must be said, and no error.
  HorovodStart Ready() {
    EXPECT_TRUE(driver_.Await([this] { return ready_.has_value(); }));
    if (!ready_) return {};
    EXPECT_TRUE(ready_->ok()) << ready_->status();
    return ready_->ok() ? **ready_ : HorovodStart{};
  }
  /// Where worker `index` is.
  core::HorovodSlot PlaceOf(int index, const core::ClusterSpec& spec,
                            const core::RendezvousPlan& plan) {
    Prepare(AssignmentOf({"worker", index}), spec, plan);
    return Ready().place.value_or(core::HorovodSlot{});
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::WriteFileAtomically(folder_of_driver_ + "/" + name, text).ok());
  }
  void WritePlan(int port) { Write(core::PlanFileName(port), core::FormatPlan(plan_)); }
  bool AwaitSaid(size_t count) {
    return driver_.Await([&] { return said_.size() >= count; });
  }
  /// Whether a request to 127.0.0.1 is answered as by a store that has nothing.
  bool Answers(int port) {
    rendezvous::HttpStoreClient client({.port = port, .retry_pause = std::chrono::milliseconds(1)});
    const auto answer = driver_.AwaitThread([&] { return client.Get("global", "rank_0"); });
    return answer && answer->ok() && client.counts().missing == 1;
  }
  v1::RendezvousMembers Members(int epoch, int attempt) {
    v1::RendezvousMembers members;
    members.set_epoch(epoch);
    members.set_attempt(attempt);
    members.add_members()->set_name("worker:0/1");
    members.mutable_members(0)->set_host("a");
    return members;
  }
  std::string MembersFile() const { return folder_of_driver_ + "/" + core::kMembersFileName; }

  // Any that is free; nothing else in the test takes one while it is reserved.
  const os::UniqueFd reserved_ = os::BindSocket({.reuse_address = true}, 0);
  const int kReplicaPort = os::PortOf(reserved_);
  os::TemporaryFolder folder_;
  const std::string working_ = folder_ / "the driver's";
  const std::string folder_of_driver_ = working_ + "/.tony/driver";
  const core::RendezvousPlan plan_ = PlanFor(OneMachine());
  LoopDriver driver_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create("job-1").value();
  std::vector<v1::ExecutorMessage> said_;
  int dialled_ = 0;
  std::optional<absl::StatusOr<HorovodStart>> ready_;
  HorovodTask task_{driver_.loop(),
                    {[this](v1::ExecutorMessage message) {
                       said_.push_back(std::move(message));
                       driver_.Changed();
                     },
                     [this] {
                       ++dialled_;
                       // No driver is there; a replica answers nevertheless.
                       return std::make_shared<rpc::TunnelDialer>(
                           "127.0.0.1:1",
                           authority_.Issue(rpc::ExecutorRole("job-1", "c")).value());
                     }}};
};

TEST_F(HorovodTaskTest, TonysDriverPlansAndItsPlanIsSaid) {
  Prepare(AssignmentOf({"driver", 0}), TwoMachines());
  const HorovodStart start = Ready();
  EXPECT_EQ(start.driver_output_folder, folder_of_driver_);
  EXPECT_FALSE(start.place.has_value());
  auto program = os::Subprocess::Start({.arguments = {"bash", "-c", start.command}});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(AwaitSaid(1)) << start.command;
  program->Signal(SIGKILL);
  const v1::RanksPlanned& planned = said_[0].ranks_planned();
  EXPECT_EQ(planned.epoch(), kEpoch);
  EXPECT_EQ(planned.attempt(), kAttempt);
  EXPECT_EQ(planned.trouble(), "");
  const core::RendezvousPlan plan = rpc::FromProto(planned.plan());
  EXPECT_GT(plan.port, 0);
  EXPECT_EQ(plan, (core::RendezvousPlan{.port = plan.port, .slots = PlanFor(TwoMachines()).slots}));
}

TEST_F(HorovodTaskTest, AnElasticJobsDriverIsToldItsLimitsAndHost) {
  v1::Assignment assignment = AssignmentOf({"driver", 0});
  v1::HorovodSettings::Elastic& elastic = *assignment.mutable_horovod()->mutable_elastic();
  elastic.set_least(1);
  elastic.set_most(4);
  elastic.set_resets(2);
  elastic.set_patience_ms(600);
  Prepare(assignment, TwoMachines());
  const std::string command = Ready().command;
  EXPECT_THAT(command, HasSubstr("'--elastic=1:4:2:600' '--host=127.0.0.1'"));
  EXPECT_THAT(command, Not(HasSubstr("--workers=")));
}

TEST_F(HorovodTaskTest, AUsersOwnDriverIsReachedByItsHostsName) {
  Prepare(OwnDriver(), OneMachine());
  EXPECT_EQ(Ready().command, "the user's command");
  WritePlan(4711);
  ASSERT_TRUE(AwaitSaid(1));
  const core::RendezvousPlan plan = rpc::FromProto(said_[0].ranks_planned().plan());
  EXPECT_FALSE(plan.loopback);
  const core::HorovodSlot place =
      PlaceOf(1, TwoMachines("localhost"), PlanFor(TwoMachines("localhost"), false));
  EXPECT_EQ(place.address, kHere);
  EXPECT_EQ(place.port, 4711);
  EXPECT_EQ(dialled_, 0) << "it has a replica";
}

TEST_F(HorovodTaskTest, APlanThatMakesNoSenseIsTrouble) {
  Prepare(OwnDriver(), OneMachine());
  Write(core::PlanFileName(4711), "no plan");
  ASSERT_TRUE(AwaitSaid(1));
  const v1::RanksPlanned& planned = said_[0].ranks_planned();
  EXPECT_FALSE(planned.has_plan());
  EXPECT_THAT(planned.trouble(), HasSubstr("cannot be read"));
  EXPECT_EQ(planned.epoch(), kEpoch);
}

TEST_F(HorovodTaskTest, WhoIsWaitedForIsSaid) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  Write(core::kWaitFileName, core::FormatWait({"rank 1 has put nothing", {"worker:1"}}));
  ASSERT_TRUE(AwaitSaid(1));
  EXPECT_EQ(said_[0].rendezvous_wait().sentence(), "rank 1 has put nothing");
  EXPECT_THAT(said_[0].rendezvous_wait().missing(), ElementsAre("worker:1"));
  EXPECT_EQ(said_[0].rendezvous_wait().epoch(), kEpoch);
  EXPECT_EQ(said_[0].rendezvous_wait().attempt(), kAttempt);
}

TEST_F(HorovodTaskTest, AnotherApplicationMasterHearsTheLastPlanAndWaitAgain) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  task_.OnReattached();
  EXPECT_TRUE(said_.empty());
  WritePlan(4711);
  ASSERT_TRUE(AwaitSaid(1));
  Write(core::kWaitFileName, core::FormatWait({"for one", {"worker:1"}}));
  ASSERT_TRUE(AwaitSaid(2));
  Write(core::kWaitFileName, core::FormatWait({"for two", {"worker:1"}}));
  ASSERT_TRUE(AwaitSaid(3));
  said_.clear();
  task_.OnReattached();
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[0].ranks_planned().plan().port(), 4711);
  EXPECT_EQ(said_[1].rendezvous_wait().sentence(), "for two");
  task_.Stop();
  task_.OnReattached();
  EXPECT_EQ(said_.size(), 2U) << "a driver that is gone has said something";
}

// Its end is told next, and nothing of it after that.
TEST_F(HorovodTaskTest, WhatADriverWroteLastIsSaidBeforeItsEnd) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  WritePlan(4711);
  Write(core::kWaitFileName, core::FormatWait({"rank 1 did not come", {"worker:1"}}));
  task_.OnEnded();
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[0].ranks_planned().plan().port(), 4711);
  EXPECT_EQ(said_[1].rendezvous_wait().sentence(), "rank 1 did not come");
  task_.OnReattached();
  EXPECT_EQ(said_.size(), 2U);
}

TEST_F(HorovodTaskTest, ANewEpochsDriverBeginsWithNothingOfTheLastOne) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  WritePlan(4711);
  ASSERT_TRUE(AwaitSaid(1));
  Prepare(AssignmentOf({"driver", 0}), OneMachine(), {}, kEpoch + 1);
  said_.clear();
  task_.OnReattached();
  task_.OnEnded();
  EXPECT_TRUE(said_.empty());
  Prepare(AssignmentOf({"driver", 0}), OneMachine(), {}, kEpoch + 2);
  WritePlan(4712);
  ASSERT_TRUE(AwaitSaid(1));
  EXPECT_EQ(said_[0].ranks_planned().epoch(), kEpoch + 2);
  EXPECT_EQ(said_[0].ranks_planned().plan().port(), 4712);
}

TEST_F(HorovodTaskTest, MembersAreForTheDriverOfTheirEpochAndAttempt) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  task_.TakeMembers(Members(kEpoch - 1, kAttempt));
  task_.TakeMembers(Members(kEpoch, kAttempt - 1));
  EXPECT_FALSE(os::Exists(MembersFile()));
  task_.TakeMembers(Members(kEpoch, kAttempt));
  const auto list = core::ParseMembers(os::Contents(MembersFile()));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(*list, (core::MemberList{.members = {{"worker:0/1", "a"}}}));
}

TEST_F(HorovodTaskTest, MembersAreForADriverThatRuns) {
  Prepare(AssignmentOf({"driver", 0}), OneMachine());
  task_.Stop();
  task_.TakeMembers(Members(kEpoch, kAttempt));
  PlaceOf(0, OneMachine(), plan_);
  task_.TakeMembers(Members(kEpoch, kAttempt));
  EXPECT_FALSE(os::Exists(MembersFile()));
}

TEST_F(HorovodTaskTest, OnTheDriversMachineItIsTheDriverThatIsAsked) {
  const core::HorovodSlot place = PlaceOf(0, TwoMachines(), PlanFor(TwoMachines()));
  EXPECT_EQ(place.slot.rank, 0);
  EXPECT_EQ(place.address, kHere);
  EXPECT_EQ(place.port, 4711);
  EXPECT_FALSE(place.elastic);
  EXPECT_EQ(dialled_, 0) << "it has a replica";
}

TEST_F(HorovodTaskTest, OnAnotherMachineAReplicaAnswers) {
  const core::HorovodSlot place = PlaceOf(1, TwoMachines(), PlanFor(TwoMachines()));
  EXPECT_EQ(place.slot.rank, 1);
  EXPECT_EQ(place.address, kHere);
  EXPECT_NE(place.port, 4711);
  EXPECT_EQ(dialled_, 1);
  EXPECT_TRUE(Answers(place.port));
  const int dialled = dialled_;
  task_.OnReattached();
  EXPECT_EQ(dialled_, dialled + 1) << "the next ApplicationMaster was not dialled";
  task_.Stop();
  EXPECT_FALSE(Answers(place.port));
}

TEST_F(HorovodTaskTest, AnElasticJobsProcessHasThePlaceOfItsStart) {
  core::RendezvousPlan plan = PlanFor(OneMachine());
  plan.round = 1;
  plan.members = {"worker:1/5", "worker:0/5"};
  EXPECT_EQ(PlaceOf(0, OneMachine(), plan).slot.rank, 1);
  EXPECT_TRUE(PlaceOf(0, OneMachine(), plan).elastic);
  plan.members = {"worker:1/5", "worker:0/4"};
  Prepare(AssignmentOf({"worker", 0}), OneMachine(), plan);
  ASSERT_TRUE(ready_.has_value());
  EXPECT_TRUE(absl::IsNotFound(ready_->status())) << ready_->status();
}

TEST_F(HorovodTaskTest, OtherTasksHaveNothingOfIt) {
  Prepare(AssignmentOf({"evaluator", 0}), TwoMachines(), PlanFor(TwoMachines()));
  const HorovodStart start = Ready();
  EXPECT_EQ(start.command, "the user's command");
  EXPECT_EQ(start.driver_output_folder, "");
  EXPECT_FALSE(start.place.has_value());
}

TEST_F(HorovodTaskTest, InterfacesAreThoseOfTheRouteUnlessTheyAreGiven) {
  EXPECT_EQ(PlaceOf(0, OneMachine(), plan_).interfaces, "lo");
  EXPECT_EQ(PlaceOf(0, TwoMachines(), PlanFor(TwoMachines())).interfaces, "lo");
  EXPECT_EQ(PlaceOf(0, TwoMachines(kNoHost), PlanFor(TwoMachines(kNoHost))).interfaces, "")
      << "of a machine that nobody knows";
  v1::Assignment assignment = AssignmentOf({"worker", 0});
  assignment.mutable_horovod()->set_network_interfaces("eth7,eth8");
  Prepare(assignment, TwoMachines(), PlanFor(TwoMachines()));
  ASSERT_TRUE(ready_.has_value()) << "somebody was asked";
  EXPECT_EQ((*ready_)->place->interfaces, "eth7,eth8");
}

// The first ones' answers are on their way when the last one's comes: each was asked for before.
TEST_F(HorovodTaskTest, WhoWasStoppedOrReplacedWhileTheRouteIsAskedForHearsNothing) {
  const core::ClusterSpec spec = TwoMachines();
  v1::Start start;
  *start.mutable_plan() = rpc::ToProto(PlanFor(spec));
  std::vector<int> called;
  for (int number = 0; number < 20; ++number) {
    task_.Prepare(AssignmentOf({"worker", 0}), start, spec, kAttempt, working_, kReplicaPort,
                  [this, number, &called](const auto&) {
                    called.push_back(number);
                    driver_.Changed();
                  });
    if (number % 2 == 0) task_.Stop();
  }
  EXPECT_TRUE(driver_.Await([&] { return !called.empty(); }));
  task_.Stop();
  // Long enough for an answer to be asked for and given anew.
  EXPECT_EQ(PlaceOf(0, spec, PlanFor(spec)).interfaces, "lo");
  EXPECT_EQ(called, std::vector<int>{19});
}

TEST_F(HorovodTaskTest, AReplacedProcessHasNoReplicaAnyMore) {
  const int port = PlaceOf(1, TwoMachines(), PlanFor(TwoMachines())).port;
  const core::HorovodSlot next = PlaceOf(1, TwoMachines(), PlanFor(TwoMachines()));
  EXPECT_TRUE(Answers(next.port));
  EXPECT_TRUE(next.port == port || !Answers(port));
}

}  // namespace
}  // namespace tony::executor
