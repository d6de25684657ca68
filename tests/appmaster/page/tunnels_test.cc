// Tests which requests for a tunnel are accepted.
#include "appmaster/page/tunnels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;

class TunnelTargetTest : public ::testing::Test {
 protected:
  TunnelTargetTest() {
    core::Task& worker = *tasks_.Find({"worker", 0});
    core::Container container;
    container.id = "c1";
    tasks_.Change(worker, core::BindingTrigger::kGrant, container);
    tasks_.SetState(worker, core::TaskState::kRunning);
    tasks_.Change(worker, core::BindingTrigger::kAttach);
    worker.port = 1000;
    worker.visualization_port = 2000;
  }
  core::Task& worker() { return *tasks_.Find({"worker", 0}); }
  int PortFor(int wish) {
    const auto target = FindTunnelTarget(tasks_, {1, {"worker", 0}, wish});
    return target.ok() ? target->port : -1;
  }

  const std::vector<core::TaskType> types_ = [] {
    core::TaskType type;
    type.name = "worker";
    type.instances = 2;
    return std::vector<core::TaskType>{type};
  }();
  core::TaskTable tasks_{types_};
};

TEST_F(TunnelTargetTest, TheExecutorDecidesAboutPortsThatAreNotRegistered) {
  EXPECT_EQ(PortFor(0), 2000);
  EXPECT_EQ(PortFor(1000), 1000);
  EXPECT_EQ(PortFor(2000), 2000);
  EXPECT_EQ(PortFor(8888), 8888);
  EXPECT_EQ(PortFor(-1), -1);
  EXPECT_EQ(PortFor(65536), -1);
  worker().visualization_port = 0;
  EXPECT_EQ(PortFor(0), 1000);
  const absl::Status refused = FindTunnelTarget(tasks_, {1, {"worker", 0}, 65536}).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("port 65536 is none that worker:0"));
}

TEST_F(TunnelTargetTest, CommandsRunBesideRunningProgramsOnly) {
  EXPECT_TRUE(FindRunningTask(tasks_, {"worker", 0}).ok());
  EXPECT_TRUE(absl::IsNotFound(FindRunningTask(tasks_, {"worker", 2}).status()));
  const absl::Status early = FindRunningTask(tasks_, {"worker", 1}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(early)) << early;
  EXPECT_THAT(std::string(early.message()), HasSubstr("so nothing runs there"));
}

TEST_F(TunnelTargetTest, ExecutorsReachTheDriverOnly) {
  rpc::TunnelRelay::Wish wish{1, {"worker", 0}, 1000};
  wish.by_executor = true;
  const absl::Status refused = FindTunnelTarget(tasks_, wish).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  // There is none here.
  wish.task = {"driver", 0};
  EXPECT_TRUE(absl::IsNotFound(FindTunnelTarget(tasks_, wish).status()));
}

TEST_F(TunnelTargetTest, TheContainerIsTheTasks) {
  const auto target = FindTunnelTarget(tasks_, {1, {"worker", 0}, 0});
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->container_id, "c1");
}

TEST_F(TunnelTargetTest, OnlyWhatRuns) {
  EXPECT_TRUE(absl::IsNotFound(FindTunnelTarget(tasks_, {1, {"worker", 2}, 0}).status()));
  EXPECT_TRUE(absl::IsNotFound(FindTunnelTarget(tasks_, {1, {"ps", 0}, 0}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(FindTunnelTarget(tasks_, {1, {"worker", 1}, 0}).status()));
  tasks_.Change(worker(), core::BindingTrigger::kDetach);
  EXPECT_TRUE(absl::IsFailedPrecondition(FindTunnelTarget(tasks_, {1, {"worker", 0}, 0}).status()));
  tasks_.Change(worker(), core::BindingTrigger::kAttach);
  tasks_.SetState(worker(), core::TaskState::kSucceeded);
  const absl::Status over = FindTunnelTarget(tasks_, {1, {"worker", 0}, 0}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(over)) << over;
  EXPECT_THAT(std::string(over.message()), HasSubstr("worker:0 is SUCCEEDED"));
}

TEST_F(TunnelTargetTest, LogsAreThoseOfAnAttachedExecutor) {
  EXPECT_TRUE(CheckLogContainer(tasks_, "c1").ok());
  // Logs of an ended task are available, too, while its container is there.
  tasks_.SetState(worker(), core::TaskState::kSucceeded);
  EXPECT_TRUE(CheckLogContainer(tasks_, "c1").ok());
  EXPECT_TRUE(absl::IsNotFound(CheckLogContainer(tasks_, "c2")));
  tasks_.Change(worker(), core::BindingTrigger::kDetach);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckLogContainer(tasks_, "c1")));
}

}  // namespace
}  // namespace tony::appmaster
