// Admission to one machine: order, totals, exclusive GPUs, and what the sentences say.
#include "core/schedule/admission.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Capacity Machine(int64_t memory_mb, int gpus) {
  Capacity capacity{.host = "box", .memory_mb = memory_mb, .vcores = 2};
  for (int i = 0; i < gpus; ++i) capacity.gpus.push_back(i);
  return capacity;
}

ContainerRequest Ask(const std::string& type, int count, int64_t memory_mb, int gpus = 0,
                     int vcores = 1) {
  return {.type = type,
          .count = count,
          .resources = {.memory_mb = memory_mb, .vcores = vcores, .gpus = gpus}};
}

Claim Queued(const std::string& job, int64_t ticket, std::vector<ContainerRequest> wanted) {
  return {.job_id = job, .pid = 100 + ticket, .ticket = ticket, .wanted = std::move(wanted)};
}

// As `Queued`, after it was admitted to an otherwise empty machine.
Claim Running(const Capacity& capacity, const std::string& job, int64_t ticket,
              std::vector<ContainerRequest> wanted) {
  Claim claim = Queued(job, ticket, std::move(wanted));
  claim.held = std::get<Admitted>(Admit(capacity, claim, {})).containers;
  claim.wanted.clear();
  return claim;
}

MustWait WaitOf(const Admission& admission) {
  const auto* wait = std::get_if<MustWait>(&admission);
  return wait != nullptr ? *wait : MustWait{.sentence = "it does not wait"};
}

TEST(AdmissionTest, GivesEachContainerItsOwnGpusInOrder) {
  const Admission admission = Admit(
      Machine(1000, 4),
      Queued("a", 1, {Ask("worker", 2, 100, 1), Ask("ps", 1, 50), Ask("chief", 1, 10, 2)}), {});
  const std::vector<Grant>& grants = std::get<Admitted>(admission).containers;
  ASSERT_EQ(grants.size(), 4u);
  EXPECT_THAT(grants[0].gpus, ElementsAre(0));
  EXPECT_THAT(grants[1].gpus, ElementsAre(1));
  EXPECT_THAT(grants[2].gpus, ElementsAre());
  EXPECT_THAT(grants[3].gpus, ElementsAre(2, 3));
  EXPECT_EQ(grants[2].resources, Ask("ps", 1, 50).resources);
}

TEST(AdmissionTest, GpusOfOthersAreNotGivenAgain) {
  const Capacity machine = Machine(1000, 4);
  Claim other = Running(machine, "a", 1, {Ask("worker", 2, 10, 1)});
  other.held.erase(other.held.begin());  // leaves it with GPU 1
  const Admission admission = Admit(machine, Queued("b", 2, {Ask("worker", 3, 10, 1)}), {other});
  std::set<int> given;
  for (const Grant& grant : std::get<Admitted>(admission).containers) {
    given.insert(grant.gpus.begin(), grant.gpus.end());
  }
  EXPECT_THAT(given, ElementsAre(0, 2, 3));
}

TEST(AdmissionTest, WaitsForGpusAndNamesTheHolder) {
  const Capacity machine = Machine(1000, 4);
  const Claim other = Running(machine, "job-x", 7, {Ask("worker", 3, 10, 1)});
  const MustWait wait = WaitOf(Admit(machine, Queued("b", 8, {Ask("worker", 2, 10, 1)}), {other}));
  EXPECT_EQ(wait.sentence, "needs 2 GPUs, 1 of 4 is free; job job-x (pid 107) holds 3");
  EXPECT_EQ(wait.unblock, "the end of job job-x (pid 107); `tony kill JOB` ends one");
}

TEST(AdmissionTest, WaitsForMemory) {
  const Capacity machine = Machine(1000, 0);
  const Claim other = Running(machine, "x", 1, {Ask("worker", 1, 600)});
  const Claim own = Queued("y", 2, {Ask("worker", 1, 401)});
  EXPECT_EQ(WaitOf(Admit(machine, own, {other})).sentence,
            "needs 401 MiB of memory, 400 of 1000 are free; job x (pid 101) holds 600");
  EXPECT_TRUE(std::holds_alternative<Admitted>(
      Admit(machine, Queued("y", 2, {Ask("worker", 1, 400)}), {other})));
}

TEST(AdmissionTest, ALargeJobInTheQueueBlocksSmallerOnesBehindIt) {
  const Capacity machine = Machine(1000, 0);
  const Claim running = Running(machine, "a", 1, {Ask("worker", 1, 500)});
  const Claim large = Queued("b", 2, {Ask("worker", 1, 900)});
  const Claim small = Queued("c", 3, {Ask("worker", 1, 10)});
  const MustWait wait = WaitOf(Admit(machine, small, {running, large}));
  EXPECT_EQ(wait.sentence,
            "job b (pid 102) asked earlier and is ahead, and this one could delay it");
  EXPECT_EQ(wait.unblock, "the start of job b (pid 102)");
  // The one ahead does not wait for those behind it.
  EXPECT_THAT(WaitOf(Admit(machine, large, {running, small})).sentence, Not(HasSubstr("ahead")));
}

TEST(AdmissionTest, AJobThatCanDelayNobodyPasses) {
  const Capacity machine = Machine(1000, 4);
  const Claim running = Running(machine, "a", 1, {Ask("worker", 1, 100, 4)});
  const Claim large = Queued("b", 2, {Ask("worker", 1, 500, 2)});
  const Claim next = Queued("c", 3, {Ask("worker", 1, 200, 1)});
  const auto small = [&](int64_t memory_mb, int gpus) {
    return Admit(machine, Queued("d", 4, {Ask("worker", 1, memory_mb, gpus)}),
                 {running, large, next});
  };
  EXPECT_TRUE(std::holds_alternative<Admitted>(small(200, 0)));
  EXPECT_EQ(WaitOf(small(201, 0)).sentence,
            "2 jobs are ahead, next job b (pid 102), and this one could delay them");
  EXPECT_THAT(WaitOf(small(10, 1)).sentence, HasSubstr("needs 1 GPU, 0 of 4 are free"));
}

TEST(AdmissionTest, CountsThoseAheadAndNamesTheNext) {
  const Capacity machine = Machine(1000, 4);
  const Claim running = Running(machine, "a", 1, {Ask("worker", 3, 10, 1)});
  const MustWait wait = WaitOf(Admit(machine, Queued("d", 9, {Ask("worker", 2, 10, 1)}),
                                     {running, Queued("c", 5, {Ask("worker", 1, 10)}),
                                      Queued("b", 3, {Ask("worker", 4, 10, 1)})}));
  EXPECT_EQ(wait.sentence,
            "needs 2 GPUs, 1 of 4 is free; job a (pid 101) holds 3; 2 jobs are ahead, next job b "
            "(pid 103)");
}

TEST(AdmissionTest, ALongListOfHoldersIsCut) {
  const Capacity machine = Machine(1000, 0);
  std::vector<Claim> others;
  for (int i = 1; i <= 10; ++i) {
    others.push_back(Running(machine, "j" + std::to_string(i), i, {Ask("worker", 1, 100)}));
  }
  const MustWait wait = WaitOf(Admit(machine, Queued("b", 99, {Ask("worker", 1, 1)}), others));
  EXPECT_THAT(wait.sentence, AllOf(HasSubstr("j3"), Not(HasSubstr("j4")), HasSubstr("7 more")));
}

TEST(AdmissionTest, VcoresAreSharesUnlessTheyAreMadeHard) {
  Capacity machine = Machine(1000, 0);
  const Claim many = Queued("a", 1, {Ask("worker", 4, 10, 0, 3)});
  EXPECT_TRUE(std::holds_alternative<Admitted>(Admit(machine, many, {})));
  machine.vcores_hard = true;
  const Admission admission = Admit(machine, many, {});
  ASSERT_TRUE(std::holds_alternative<NeverFits>(admission));
  EXPECT_THAT(std::get<NeverFits>(admission).sentence,
              AllOf(HasSubstr("12 vcores"), HasSubstr("2 vcores in total"),
                    HasSubstr("tony.local.vcores")));
}

TEST(AdmissionTest, WhatExceedsTheTotalNeverFits) {
  const std::optional<NeverFits> never =
      CheckFits(Machine(8000, 4), {Ask("worker", 2, 4096), Ask("ps", 1, 2048)});
  ASSERT_TRUE(never.has_value());
  EXPECT_EQ(
      never->sentence,
      "the job needs 10240 MiB of memory (2 x worker with 4096, 1 x ps with 2048), but box has "
      "8000 MiB of memory in total: lower tony.worker.memory or tony.worker.instances, or "
      "correct tony.local.memory if the machine has more");
  EXPECT_FALSE(CheckFits(Machine(10240, 4), {Ask("worker", 2, 4096), Ask("ps", 1, 2048)}));
}

TEST(AdmissionTest, NeverFitsSaysWhyGpusMayBeUnknown) {
  Capacity machine = Machine(1000, 0);
  machine.gpu_note = "nvidia-smi was not found";
  const std::optional<NeverFits> never = CheckFits(machine, {Ask("worker", 1, 10, 1)});
  ASSERT_TRUE(never.has_value());
  EXPECT_THAT(
      never->sentence,
      HasSubstr("box has 0 GPUs in total (nvidia-smi was not found): lower tony.worker.gpus"));
}

TEST(AdmissionTest, NeverFitsComesBeforeTheQueue) {
  const Capacity machine = Machine(1000, 0);
  const Claim ahead = Queued("a", 1, {Ask("worker", 1, 10)});
  EXPECT_TRUE(std::holds_alternative<NeverFits>(
      Admit(machine, Queued("b", 2, {Ask("worker", 1, 1001)}), {ahead})));
}

TEST(AdmissionTest, WhatTheJobHoldsCountsTogetherWithWhatItWants) {
  const Capacity machine = Machine(1000, 2);
  Claim own = Running(machine, "a", 1, {Ask("worker", 1, 600, 1)});
  own.wanted = {Ask("ps", 1, 400, 1)};
  own.ticket = 2;
  const Admission more = Admit(machine, own, {});
  ASSERT_TRUE(std::holds_alternative<Admitted>(more));
  EXPECT_THAT(std::get<Admitted>(more).containers[0].gpus, ElementsAre(1));
  own.wanted = {Ask("ps", 1, 401)};
  const Admission too_much = Admit(machine, own, {});
  ASSERT_TRUE(std::holds_alternative<NeverFits>(too_much));
  EXPECT_THAT(std::get<NeverFits>(too_much).sentence, HasSubstr("besides the 600 that it holds"));
}

TEST(AdmissionTest, JobsWithLargerSettingsDoNotMakeFreeNegative) {
  const Claim other = Running(Machine(5000, 0), "x", 1, {Ask("worker", 1, 5000)});
  const MustWait wait =
      WaitOf(Admit(Machine(1000, 0), Queued("y", 2, {Ask("worker", 1, 1)}), {other}));
  EXPECT_THAT(wait.sentence, HasSubstr("0 of 1000 are free"));
}

TEST(AdmissionTest, AHolderIsNamedByTheGpusThatItHas) {
  const Capacity machine = Machine(1000, 1);
  Claim other = Running(machine, "a", 1, {Ask("worker", 1, 10, 1)});
  other.held.front().resources.gpus = 0;  // a claim that no version of ours writes
  const MustWait wait = WaitOf(Admit(machine, Queued("b", 2, {Ask("worker", 1, 10, 1)}), {other}));
  EXPECT_EQ(wait.sentence, "needs 1 GPU, 0 of 1 are free; job a (pid 101) holds 1");
  EXPECT_EQ(wait.unblock, "the end of job a (pid 101); `tony kill JOB` ends one");
}

TEST(AdmissionTest, WantingNothingIsAdmitted) {
  const Claim ahead = Queued("a", 1, {Ask("worker", 1, 1000)});
  const Admission admission = Admit(Machine(1000, 0), Queued("b", 0, {}), {ahead});
  ASSERT_TRUE(std::holds_alternative<Admitted>(admission));
  EXPECT_TRUE(std::get<Admitted>(admission).containers.empty());
}

}  // namespace
}  // namespace tony::core
