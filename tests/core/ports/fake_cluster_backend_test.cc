// The fake keeps the contract of the port that it stands for.
#include "core/ports/fake_cluster_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeClusterBackendTest : public testing::Test, private ClusterBackend::Listener {
 protected:
  FakeClusterBackendTest() : backend_(*this) {}

  FakeClusterBackend backend_;
  std::vector<std::string> events_;
  std::vector<Container> granted_;

 private:
  void OnContainerGranted(const Container& container) override {
    granted_.push_back(container);
    events_.push_back("granted " + container.id + " " + container.type);
  }
  void OnAllocationWaiting(const std::string& what, const std::string&) override {
    events_.push_back("waiting " + what);
  }
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override {
    events_.push_back((never_fits ? "never fits: " : "refused: ") + sentence);
  }
  void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) override {
    events_.push_back("ended " + container_id + ": " + end.sentence);
  }
};

TEST_F(FakeClusterBackendTest, GrantsWhatWasAskedForWhenTheTestSaysSo) {
  backend_.Request({{"worker", 2, {}}, {"ps", 1, {}}});
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_THAT(backend_.pending(), ElementsAre("worker", "worker", "ps"));
  EXPECT_TRUE(backend_.Grant("ps"));
  EXPECT_FALSE(backend_.Grant("ps"));
  backend_.GrantAll();
  EXPECT_THAT(events_, ElementsAre("granted c1 ps", "granted c2 worker", "granted c3 worker"));
  EXPECT_THAT(backend_.pending(), IsEmpty());
}

TEST_F(FakeClusterBackendTest, GpusAreExclusiveAndHostsAreSharedInTurn) {
  backend_.set_hosts(2);
  backend_.Request({{"worker", 3, Resources{.gpus = 2}}});
  backend_.GrantAll();
  ASSERT_EQ(granted_.size(), 3u);
  EXPECT_THAT(granted_[1].gpus, ElementsAre(2, 3));
  EXPECT_EQ(granted_[0].host_id, granted_[2].host_id);
  EXPECT_NE(granted_[0].host_id, granted_[1].host_id);
}

TEST_F(FakeClusterBackendTest, AKilledContainerEndsWhenTheTestSaysSo) {
  backend_.Request({{"worker", 1, {}}});
  backend_.GrantAll();
  backend_.Launch("c1", {{}, {}, "worker-0"});
  backend_.Kill("c1");
  EXPECT_TRUE(backend_.killed("c1"));
  EXPECT_TRUE(backend_.End("c1", {true, "killed"}));
  EXPECT_FALSE(backend_.End("c1", {true, "killed"}));
  EXPECT_FALSE(backend_.holds("c1"));
  EXPECT_THAT(events_, ElementsAre("granted c1 worker", "ended c1: killed"));
  EXPECT_THAT(backend_.calls(), ElementsAre("request worker=1", "launch c1 worker-0", "kill c1"));
}

TEST_F(FakeClusterBackendTest, AContainerThatWasNeverLaunchedIsGivenBackWithoutAnEvent) {
  backend_.Request({{"worker", 1, {}}});
  backend_.GrantAll();
  backend_.Kill("c1");
  backend_.Kill("c9");
  EXPECT_FALSE(backend_.holds("c1"));
  EXPECT_THAT(events_, ElementsAre("granted c1 worker"));
}

TEST_F(FakeClusterBackendTest, WhatIsTakenBackOrRefusedIsNotGranted) {
  backend_.Request({{"worker", 2, {}}});
  backend_.Request({{"ps", 1, {}}});
  backend_.Wait("the cluster is full", "patience");
  backend_.Refuse(true, "too large");
  EXPECT_THAT(backend_.pending(), ElementsAre("ps"));
  backend_.CancelRequests();
  EXPECT_THAT(backend_.pending(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("waiting the cluster is full", "never fits: too large"));
}

}  // namespace
}  // namespace tony::core
