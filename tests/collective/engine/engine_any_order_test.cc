// All operations of engines on all types with all reductions, of tensors from several threads in
// any order, whichever way data goes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include "tests/collective/engine/tensor_steps.h"
#include "tests/collective/meeting/meeting_ranks.h"

namespace tony::collective {
namespace {

struct Ranks {
  Way way;
  int ranks;
};

std::string NameOfRanks(const ::testing::TestParamInfo<Ranks>& info) {
  return NameOf(info.param.way) + std::to_string(info.param.ranks);
}

/// Different for each of them.
unsigned SeedOf(const Ranks& ranks) {
  return static_cast<unsigned>(ranks.way) * 100 + static_cast<unsigned>(ranks.ranks);
}

class EngineAnyOrderTest : public ::testing::TestWithParam<Ranks> {};

/// Each kind twice, so that there is something to fuse. Some steps with the same tensors, so that
/// they have numbers, and some with others of their names.
std::vector<Cases> StepsOf(const Ranks& ranks) {
  constexpr unsigned kSteps = 5;
  std::mt19937 random(SeedOf(ranks));
  const std::vector<Kind> kinds = AllKinds(random);
  const auto hosts = HostsOf(ranks.way, ranks.ranks);
  const auto seed = static_cast<unsigned>(random());
  std::vector<Cases> steps;
  for (unsigned step = 0; step < kSteps; ++step) {
    Cases& cases = steps.emplace_back();
    for (unsigned i = 0; i < 2 * kinds.size(); ++i) {
      // Neighbours change their kinds with each other, so all are there always.
      const unsigned turn = step >= 3 && i / 3 % 3 == 0 ? step - 2 : 0;
      const unsigned kind = i / 3 * 3 + (i + turn) % 3;
      cases.emplace_back("tensor." + std::to_string(i), kinds[kind % kinds.size()],
                         seed + i + 1000 * turn, hosts);
    }
  }
  return steps;
}

TEST_P(EngineAnyOrderTest, TensorsOfAllKinds) {
  const int ranks = GetParam().ranks;
  SCOPED_TRACE("seed " + std::to_string(SeedOf(GetParam())));
  const std::vector<Cases> steps = StepsOf(GetParam());
  std::atomic<int> came = 0;
  EnginesMeet(
      GetParam().way, ranks,
      [&](Engine& engine, int rank) {
        for (unsigned step = 0; step < steps.size() && !::testing::Test::HasFailure(); ++step) {
          RankStep tensors(steps[step], static_cast<size_t>(rank), step + SeedOf(GetParam()));
          const bool first = (static_cast<unsigned>(rank) + step) % 2 == 0;
          if (!first) tensors.Submit(engine);
          Promise met;
          ++came;
          ASSERT_TRUE(engine.Barrier("barrier", met.Callback()).ok());
          if (first) tensors.Submit(engine);
          const Status status = met.Get();
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_GE(came, ranks * static_cast<int>(step + 1)) << "not all have come";
          tensors.Check();
        }
        MeetAgain(engine);
      },
      {.limits = {.fusion_bytes = 100000, .numbers = 250}});
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineAnyOrderTest,
                         ::testing::Values(Ranks{Way::kMemory, 1}, Ranks{Way::kMemory, 2},
                                           Ranks{Way::kMemory, 3}, Ranks{Way::kMemory, 4},
                                           Ranks{Way::kMemory, 5}, Ranks{Way::kTcp, 2},
                                           Ranks{Way::kTcp, 3}, Ranks{Way::kTcp, 5},
                                           Ranks{Way::kTcp, 8}, Ranks{Way::kHosts, 2},
                                           Ranks{Way::kHosts, 3}, Ranks{Way::kHosts, 5},
                                           Ranks{Way::kHosts, 8}, Ranks{Way::kBlocks, 5}),
                         NameOfRanks);

class EngineInFlightTest : public ::testing::TestWithParam<Way> {};

/// Rank 1 begins when rank 0 has submitted all of them, of which none can be done then.
TEST_P(EngineInFlightTest, AThousandTensors) {
  constexpr unsigned kTensors = 1000;
  std::mt19937 random(1);
  const std::vector<Kind> kinds = AllKinds(random);
  Cases cases;
  for (unsigned i = 0; i < kTensors; ++i) {
    cases.emplace_back("t" + std::to_string(i), kinds[i % kinds.size()], i, HostsOf(GetParam(), 2));
  }
  std::promise<void> submitted;
  EnginesMeet(GetParam(), 2, [&](Engine& engine, int rank) {
    RankStep tensors(cases, static_cast<size_t>(rank), 1);
    if (rank == 1) {
      ASSERT_EQ(submitted.get_future().wait_for(kPatience), std::future_status::ready);
    }
    tensors.Submit(engine);
    if (rank == 0) submitted.set_value();
    tensors.Check();
    MeetAgain(engine);
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineInFlightTest,
                         ::testing::Values(Way::kMemory, Way::kTcp, Way::kHosts), NameOfWay);

}  // namespace
}  // namespace tony::collective
