// Tests asks, grants, releases and repeated asks; and sizes in YARN's form.
#include "backend/yarn/asks.h"

#include "backend/yarn/container_id.h"
#include "backend/yarn/node_failures.h"
#include "backend/yarn/placement.h"
#include "backend/yarn/releases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::ContainerRequest Of(const std::string& type, int count, int64_t memory_mb, int gpus = 0) {
  return {.type = type,
          .count = count,
          .resources = {.memory_mb = memory_mb, .vcores = 1, .gpus = gpus}};
}

AllocationOptions Options() {
  return {.other_resources = {{"ps", {{"trainer.io/tpu", 3}}}}, .node_labels = {{"worker", "gpu"}}};
}

// The asks that the ResourceManager is told now.
::hadoop::yarn::AllocateRequestProto Told(Asks& asks) {
  ::hadoop::yarn::AllocateRequestProto request;
  asks.Tell(&request);
  return request;
}

TEST(AsksTest, EachTypeIsAnAskWithAnIdAndAPriority) {
  Asks asks(Options());
  asks.Add({Of("worker", 2, 512, 1), Of("none", 0, 1), Of("ps", 1, 256)});
  EXPECT_TRUE(asks.untold());
  const auto told = Told(asks).ask();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].num_containers(), 2);
  EXPECT_EQ(told[0].resource_name(), "*");
  EXPECT_TRUE(told[0].relax_locality());
  EXPECT_EQ(told[0].node_label_expression(), "gpu");
  EXPECT_EQ(Describe(told[0].capability()), "512 MiB, 1 core, 1 yarn.io/gpu");
  EXPECT_EQ(Describe(told[1].capability()), "256 MiB, 1 core, 3 trainer.io/tpu");
  EXPECT_FALSE(told[1].has_node_label_expression());
  EXPECT_NE(told[0].allocation_request_id(), told[1].allocation_request_id());
  EXPECT_NE(told[0].priority().priority(), told[1].priority().priority());
  EXPECT_FALSE(asks.untold());
  EXPECT_THAT(Told(asks).ask(), IsEmpty());
  EXPECT_EQ(asks.DescribeMissing(),
            "2 worker (512 MiB, 1 core, 1 yarn.io/gpu, label gpu), "
            "1 ps (256 MiB, 1 core, 3 trainer.io/tpu)");
}

TEST(AsksTest, ContainersAreTakenByTheIdUntilNoneIsMissing) {
  Asks asks(Options());
  asks.Add({Of("worker", 2, 512), Of("ps", 1, 256)});
  const auto told = Told(asks).ask();
  EXPECT_EQ(asks.Take(told[0].allocation_request_id()), "worker");
  EXPECT_EQ(asks.Take(told[1].allocation_request_id()), "ps");
  EXPECT_EQ(asks.Take(told[1].allocation_request_id()), std::nullopt);
  EXPECT_EQ(asks.Take(77), std::nullopt);
  EXPECT_EQ(asks.missing(), 1);
  EXPECT_EQ(asks.Take(told[0].allocation_request_id()), "worker");
  EXPECT_EQ(asks.missing(), 0);
}

TEST(AsksTest, CancelledAsksAreToldAsZeroOnce) {
  Asks asks(Options());
  asks.Add({Of("worker", 2, 512)});
  const int64_t id = Told(asks).ask(0).allocation_request_id();
  asks.Add({Of("untold", 1, 512)});
  asks.Cancel();
  EXPECT_EQ(asks.missing(), 0);
  EXPECT_EQ(asks.Take(id), std::nullopt) << "it comes too late";
  const auto told = Told(asks).ask();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].allocation_request_id(), id);
  EXPECT_EQ(told[0].num_containers(), 0);
  EXPECT_THAT(Told(asks).ask(), IsEmpty());
}

TEST(AsksTest, WhatIsMissingIsToldAgainToOneThatForgot) {
  Asks asks(Options());
  asks.Add({Of("worker", 2, 512), Of("ps", 1, 256)});
  const auto first = Told(asks).ask();
  asks.Take(first[0].allocation_request_id());
  asks.Take(first[1].allocation_request_id());
  asks.Forgotten();
  const auto again = Told(asks).ask();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].allocation_request_id(), first[0].allocation_request_id());
  EXPECT_EQ(again[0].num_containers(), 1);
  asks.Cancel();
  asks.Forgotten();
  EXPECT_THAT(Told(asks).ask(), IsEmpty()) << "what it does not know need not be cancelled";
}

TEST(AsksTest, OnlyWhatWasToldLastIsRefused) {
  Asks asks(Options());
  asks.Add({Of("worker", 2, 512)});
  Told(asks);
  asks.Add({Of("ps", 1, 1 << 30)});
  Told(asks);
  EXPECT_TRUE(asks.Refused());
  EXPECT_EQ(asks.DescribeMissing(), "2 worker (512 MiB, 1 core, label gpu)");
  EXPECT_FALSE(asks.Refused());
}

AllocationOptions Placed(const std::string& constraint, const std::string& label = "") {
  AllocationOptions options;
  options.placements["ps"].tags = {"ps"};
  jobfile::TypePlacement& placement = options.placements["worker"];
  placement.tags = {"a", "b"};
  if (!constraint.empty()) placement.constraint = jobfile::ParsePlacement(constraint).value();
  if (!label.empty()) options.node_labels["worker"] = label;
  return options;
}

TEST(AsksTest, WhereATypeIsPlacedAllAreSchedulingRequests) {
  Asks asks(Placed("notin,node,a"));
  asks.Add({Of("worker", 2, 512, 1), Of("ps", 1, 256)});
  const auto told = Told(asks);
  EXPECT_THAT(told.ask(), IsEmpty());
  ASSERT_THAT(told.scheduling_requests(), SizeIs(2));
  const auto& request = told.scheduling_requests(0);
  EXPECT_THAT(request.allocationtags(), ElementsAre("a", "b"));
  EXPECT_EQ(request.resourcesizing().numallocations(), 2);
  EXPECT_EQ(Describe(request.resourcesizing().resources()), "512 MiB, 1 core, 1 yarn.io/gpu");
  EXPECT_EQ(request.placementconstraint().ShortDebugString(),
            ConstraintOf(jobfile::ParsePlacement("notin,node,a").value()).ShortDebugString());
  const auto& other = told.scheduling_requests(1);
  EXPECT_THAT(other.allocationtags(), ElementsAre("ps"));
  EXPECT_FALSE(other.has_placementconstraint());
  EXPECT_NE(request.allocationrequestid(), other.allocationrequestid());
  EXPECT_NE(request.priority().priority(), other.priority().priority());
  EXPECT_EQ(asks.DescribeMissing(),
            "2 worker (512 MiB, 1 core, 1 yarn.io/gpu, placed notin,node,a), "
            "1 ps (256 MiB, 1 core)");
  EXPECT_EQ(asks.Take(request.allocationrequestid()), "worker");
  asks.Cancel();
  const auto cancelled = Told(asks);
  ASSERT_THAT(cancelled.scheduling_requests(), SizeIs(2));
  auto expected = request;
  expected.mutable_resourcesizing()->set_numallocations(0);
  EXPECT_EQ(cancelled.scheduling_requests(0).ShortDebugString(), expected.ShortDebugString())
      << "YARN takes a change of the number, and of nothing else";
}

TEST(AsksTest, ALabelIsAPartitionOfASchedulingRequest) {
  Asks tagged(Placed("", "gpu"));
  tagged.Add({Of("worker", 1, 1)});
  EXPECT_EQ(Told(tagged).scheduling_requests(0).placementconstraint().ShortDebugString(),
            "simpleConstraint { scope: \"node\" targetExpressions { targetType: NODE_ATTRIBUTE "
            "targetKey: \"yarn_node_partition/\" targetValues: \"gpu\" } minCardinality: 1 "
            "maxCardinality: 2147483647 attributeOpCode: NO_OP }");
  Asks constrained(Placed("notin,node,a", "gpu"));
  constrained.Add({Of("worker", 1, 1)});
  const auto constraint = Told(constrained).scheduling_requests(0).placementconstraint();
  ASSERT_THAT(constraint.simpleconstraint().targetexpressions(), SizeIs(2));
  EXPECT_EQ(constraint.simpleconstraint().maxcardinality(), 0);
  EXPECT_EQ(constraint.simpleconstraint().targetexpressions(1).targetkey(), "yarn_node_partition/");
  EXPECT_EQ(constrained.DescribeMissing(),
            "1 worker (1 MiB, 1 core, label gpu, placed notin,node,a)");
}

TEST(AsksTest, WhatWasRejectedIsToldAgainWhenItIsTime) {
  Asks asks(Placed("notin,node,a"));
  asks.Add({Of("worker", 5, 1)});
  const int64_t id = Told(asks).scheduling_requests(0).allocationrequestid();
  EXPECT_EQ(asks.Rejected(id, 2), "worker");
  EXPECT_EQ(asks.Rejected(id + 1, 2), std::nullopt);
  EXPECT_EQ(asks.missing(), 5);
  EXPECT_FALSE(asks.untold());
  asks.Retry();
  EXPECT_EQ(Told(asks).scheduling_requests(0).resourcesizing().numallocations(), 2);
  asks.Retry();
  EXPECT_FALSE(asks.untold()) << "it was told";
  asks.Rejected(id, 2);
  for (int i = 0; i < 4; ++i) asks.Take(id);
  asks.Retry();
  EXPECT_EQ(Told(asks).scheduling_requests(0).resourcesizing().numallocations(), 1);
  asks.Rejected(id, 9);
  asks.Forgotten();
  EXPECT_EQ(Told(asks).scheduling_requests(0).resourcesizing().numallocations(), 1);
}

TEST(AsksTest, WhatIsCancelledBeforeItIsToldAgainIsToldAsZero) {
  Asks asks(Placed("notin,node,a"));
  asks.Add({Of("worker", 5, 1)});
  const int64_t id = Told(asks).scheduling_requests(0).allocationrequestid();
  asks.Rejected(id, 2);
  asks.Retry();
  asks.Cancel();
  const auto told = Told(asks).scheduling_requests();
  ASSERT_THAT(told, SizeIs(1)) << "it goes on looking for the other three";
  EXPECT_EQ(told[0].allocationrequestid(), id);
  EXPECT_EQ(told[0].resourcesizing().numallocations(), 0);
  EXPECT_FALSE(asks.untold());
}

TEST(CapabilityTest, NamesWhatIsTooMuch) {
  const auto capability = [](int64_t memory_mb, int gpus) {
    return CapabilityOf(Of("worker", 1, memory_mb, gpus), {});
  };
  EXPECT_EQ(DescribeExcess(capability(100, 2), capability(100, 2)), "");
  EXPECT_EQ(DescribeExcess(capability(101, 0), capability(100, 2)),
            "101 MiB of memory, where 100 MiB is the largest that any node has");
  EXPECT_EQ(DescribeExcess(capability(1, 3), capability(100, 2)),
            "3 yarn.io/gpu, where 2 is the largest that any node has");
  EXPECT_EQ(DescribeExcess(capability(1, 1), capability(100, 0)),
            "1 yarn.io/gpu, a resource type that the cluster does not have");
  auto cores = capability(100, 0);
  cores.set_virtual_cores(9);
  EXPECT_EQ(DescribeExcess(cores, capability(100, 0)),
            "9 cores, where 1 is the largest that any node has");
  EXPECT_EQ(ResourcesOf(capability(7, 2), "yarn.io/gpu"),
            (core::Resources{.memory_mb = 7, .vcores = 1, .gpus = 2}));
}

TEST(ReleasesTest, AreToldOnceAndAgainToOneThatForgotUntilTheyAreOver) {
  Releases releases;
  const auto id = ParseContainerId("container_1_0001_01_000002").value();
  releases.Add(id);
  EXPECT_THAT(releases.Tell(), SizeIs(1));
  releases.Add(id);
  EXPECT_FALSE(releases.untold());
  releases.Forgotten();
  EXPECT_THAT(releases.Tell(), SizeIs(1));
  releases.Over("container_1_0001_01_000002");
  releases.Forgotten();
  EXPECT_THAT(releases.Tell(), IsEmpty());
}

TEST(NodeFailuresTest, TwoInARowLeaveANodeOut) {
  NodeFailures failures;
  EXPECT_FALSE(failures.Failed("a:1", 3));
  failures.Succeeded("a:1");
  EXPECT_FALSE(failures.Failed("a:1", 3));
  EXPECT_FALSE(failures.Failed("b:1", 3));
  EXPECT_FALSE(failures.untold());
  EXPECT_TRUE(failures.Failed("a:1", 3));
  EXPECT_FALSE(failures.Failed("a:1", 3)) << "it is left out already";
  EXPECT_THAT(failures.Tell(), ElementsAre("a:1", "a"));
  EXPECT_THAT(failures.Tell(), IsEmpty());
  failures.Forgotten();
  EXPECT_THAT(failures.Tell(), ElementsAre("a:1", "a"));
}

TEST(NodeFailuresTest, TheLastNodeStays) {
  NodeFailures failures;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(failures.Failed("a:1", 1));
  EXPECT_TRUE(failures.Failed("a:1", 2)) << "another one has come";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(failures.Failed("b:1", 2));
}

}  // namespace
}  // namespace tony::backend
