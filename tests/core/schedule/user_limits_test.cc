// What one user's jobs may hold together, and what other users' claims count.
#include "core/schedule/user_limits.h"

#include "core/schedule/admission.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::core {
namespace {

using ::testing::HasSubstr;

constexpr Limits kTwoGpus = {.memory_mb = std::nullopt, .vcores = std::nullopt, .gpus = 2};

Resources OneGpu() { return {.memory_mb = 10, .vcores = 1, .gpus = 1}; }

Claim Holding(const std::string& job, const std::string& user, const std::vector<int>& gpus) {
  Claim claim{.job_id = job, .user = user, .pid = 7, .limits = kTwoGpus};
  for (const int gpu : gpus) claim.held.push_back({.resources = OneGpu(), .gpus = {gpu}});
  return claim;
}

Claim Wanting(int gpus, int64_t ticket = 5) {
  return {.job_id = "own",
          .ticket = ticket,
          .wanted = {{.type = "worker", .count = gpus, .resources = OneGpu()}},
          .limits = kTwoGpus};
}

Capacity Machine() { return {.host = "m", .memory_mb = 1000, .gpus = {0, 1, 2, 3, 4, 5}}; }

TEST(UserLimits, AJobThatAloneHasMoreThanItsUserMayNeverStarts) {
  const Admission refused = Admit(Machine(), Wanting(3), {});
  ASSERT_TRUE(std::holds_alternative<NeverFits>(refused));
  EXPECT_EQ(std::get<NeverFits>(refused).sentence,
            "the job needs 3 GPUs, but all jobs of this user together may have at most 2 "
            "(tony.local.user-gpus): lower tony.worker.gpus or tony.worker.instances, or ask the "
            "machine's administrator for more");
  EXPECT_TRUE(std::holds_alternative<Admitted>(Admit(Machine(), Wanting(2), {})));
}

TEST(UserLimits, AJobWaitsForTheOthersOfItsUser) {
  const Admission waits = Admit(Machine(), Wanting(2), {Holding("first", "", {0})});
  ASSERT_TRUE(std::holds_alternative<MustWait>(waits));
  EXPECT_EQ(std::get<MustWait>(waits).sentence,
            "needs 2 GPUs, and your jobs may have at most 2 together (tony.local.user-gpus); job "
            "first (pid 7) holds 1");
  EXPECT_THAT(std::get<MustWait>(waits).unblock, HasSubstr("tony kill JOB"));
  EXPECT_TRUE(std::holds_alternative<Admitted>(
      Admit(Machine(), Wanting(2), {Holding("first", "bob", {0})})))
      << "other users' jobs have limits of their own";
}

TEST(UserLimits, ClaimsOfOthersCountUpToTheirLimits) {
  const std::vector<Claim> counted =
      WithinLimits({Holding("a", "eve", {0}), Holding("b", "eve", {1, 2, 3}),
                    Holding("c", "bob", {4}), Holding("d", "", {5, 0, 1})});
  EXPECT_EQ(counted[0].held.size(), 1u);
  EXPECT_EQ(counted[1].held.size(), 1u);
  EXPECT_EQ(counted[2].held.size(), 1u);
  EXPECT_EQ(counted[3].held.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Admitted>(
      Admit(Machine(), Wanting(2), {Holding("a", "eve", {0, 1, 2, 3, 4, 5})})));
}

TEST(UserLimits, WhoWantsMoreThanHisShareIsNotWaitedFor) {
  Claim eve = Wanting(3, 1);
  eve.user = "eve";
  Capacity machine = Machine();
  machine.gpus = {0, 1, 2};
  EXPECT_TRUE(std::holds_alternative<Admitted>(Admit(machine, Wanting(2), {eve})));
  eve.wanted[0].count = 2;
  EXPECT_TRUE(std::holds_alternative<MustWait>(Admit(machine, Wanting(2), {eve})));
}

TEST(UserLimits, SumsDoNotOverflow) {
  Claim eve{.job_id = "a", .user = "eve"};
  const Resources vast = {.memory_mb = int64_t{1} << 36, .vcores = 1'000'000, .gpus = 1'000'000};
  for (int i = 0; i < 100; ++i) eve.held.push_back({.resources = vast});
  eve.wanted = {{.type = "worker", .count = 1'000'000, .resources = vast}};
  EXPECT_TRUE(std::holds_alternative<MustWait>(Admit(Machine(), Wanting(1), {eve})));
}

}  // namespace
}  // namespace tony::core
