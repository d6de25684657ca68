// Process sets of engines: any tensors in overlapping sets, and sets that come, go and fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "tests/collective/engine/tensor_case.h"
#include "tests/collective/meeting/meeting_ranks.h"
#include "tests/collective/meeting/process_store.h"

namespace tony::collective {
namespace {

using ::testing::HasSubstr;
using Members = std::vector<int>;

/// Its number; 0 with an error.
SetId AddSet(Engine& engine, const std::string& name, const Members& members,
             Status* status = nullptr) {
  Promise added;
  const Status submitted = engine.AddSet(name, members, added.OutputCallback());
  EXPECT_TRUE(submitted.ok()) << submitted.message();
  auto [told, output] = added.GetAll();
  if (status != nullptr) *status = told;
  EXPECT_TRUE(told.ok() || status != nullptr) << told.message();
  return told.ok() ? output.set : 0;
}

Status RemoveSet(Engine& engine, const std::string& name, SetId set) {
  Promise removed;
  Status submitted = engine.RemoveSet(name, set, removed.Callback());
  return submitted.ok() ? removed.Get() : submitted;
}

/// The sum of all ones, one of each rank.
Status CountRanks(Engine& engine, SetId set, float* count, const std::string& name = "count") {
  float one = 1;
  Request request = Floats(name, 1);
  request.set = set;
  Promise done;
  Status submitted = engine.AllReduce(request, &one, &one, done.Callback());
  Status told = submitted.ok() ? done.Get() : submitted;
  *count = one;
  return told;
}

constexpr int kRanks = 4;

/// Tensors of one set.
struct Batch {
  Members members;
  std::vector<TensorCase> cases;

  /// Each with the next one of `kinds`, of which `next` goes on with the next batch.
  Batch(Members ranks, Way way, unsigned seed, const std::vector<Kind>& kinds, size_t& next)
      : members(std::move(ranks)) {
    for (unsigned i = 0; i < 25; ++i) {
      // The same names in all sets.
      cases.emplace_back("t" + std::to_string(i), kinds[next++ % kinds.size()], seed * 1000 + i * 7,
                         HostsOf(way, members, kRanks));
    }
  }
  /// Below 0: it is none.
  int PlaceOf(int rank) const {
    const auto found = std::find(members.begin(), members.end(), rank);
    return found == members.end() ? -1 : static_cast<int>(found - members.begin());
  }
};

/// One of a rank's tensors.
struct Work {
  const Batch* batch;
  const TensorCase* test;
  SetId set;
  size_t place;
  Bytes out;
  Promise done;

  Tensor Submission() {
    out = test->in[place];
    Tensor tensor = test->Submission(place, out, false);
    tensor.request.set = set;
    tensor.request.kind.root = batch->members[static_cast<size_t>(tensor.request.kind.root)];
    if (test->HasOutput()) {
      tensor.on_output = done.OutputCallback();
    } else {
      tensor.on_done = done.Callback();
    }
    return tensor;
  }
};

void SubmitAndCheck(Engine& engine, int rank, const std::vector<Batch>& batches,
                    const std::vector<SetId>& sets, unsigned seed) {
  std::vector<Work> all;
  for (size_t i = 0; i < batches.size(); ++i) {
    const int place = batches[i].PlaceOf(rank);
    for (const TensorCase& test : batches[i].cases) {
      if (place >= 0) all.push_back({&batches[i], &test, sets[i], static_cast<size_t>(place)});
    }
  }
  std::mt19937 random(seed * 100 + static_cast<unsigned>(rank));
  std::shuffle(all.begin(), all.end(), random);
  const auto submit = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::vector<Tensor> one;
      one.push_back(all[i].Submission());
      const Status submitted = engine.Submit(std::move(one));
      EXPECT_TRUE(submitted.ok()) << submitted.message();
    }
  };
  std::thread first([&] { submit(0, all.size() / 2); });
  submit(all.size() / 2, all.size());
  first.join();
  for (Work& work : all) {
    const auto [status, output] = work.done.GetAll();
    work.test->Check(work.place, work.out, status, output);
  }
}

class EngineSetsTest : public ::testing::TestWithParam<Way> {};

/// Each operation of each type with each reduction, in one set or another.
TEST_P(EngineSetsTest, AnyTensorsOfOverlappingSetsInAnyOrder) {
  const std::vector<Members> members = {{0, 1, 2, 3}, {1, 2, 3}, {0, 2}, {1, 3},
                                        {2, 3},       {0, 1, 3}, {2}};
  std::mt19937 random(4);
  const std::vector<Kind> kinds = AllKinds(random);
  std::vector<std::vector<Batch>> steps;
  for (unsigned step = 0; step < 4; ++step) {
    // Twice the same, so that they have numbers; then each set has other kinds.
    const unsigned round = (step + 1) / 2;
    size_t next = 60 * round;
    for (auto& batches = steps.emplace_back(); batches.size() < members.size();) {
      batches.emplace_back(members[batches.size()], GetParam(),
                           round * 10 + static_cast<unsigned>(batches.size()), kinds, next);
    }
    ASSERT_GE(next, 60 * round + kinds.size()) << "not each of them";
  }
  EnginesMeet(GetParam(), kRanks,
              [&](Engine& engine, int rank) {
                std::vector<SetId> sets = {kAllRanks};
                for (size_t i = 1; i < members.size(); ++i) {
                  sets.push_back(AddSet(engine, "set " + std::to_string(i), members[i]));
                }
                for (unsigned step = 0; step < steps.size() && !HasFailure(); ++step) {
                  SubmitAndCheck(engine, rank, steps[step], sets, step);
                }
                for (size_t i = 1; i < sets.size(); ++i) {
                  const Status removed = RemoveSet(engine, "set " + std::to_string(i), sets[i]);
                  EXPECT_TRUE(removed.ok()) << removed.message();
                }
                MeetAgain(engine);
              },
              {.limits = {.fusion_bytes = 50000, .numbers = 100}});
}

TEST_P(EngineSetsTest, WhatIsSaidOfThem) {
  EnginesMeet(GetParam(), 3, [](Engine& engine, int rank) {
    const SetId set = AddSet(engine, "a", {2, 1});
    EXPECT_GT(set, 0U);
    auto place = engine.MembershipIn(set);
    ASSERT_EQ(place.ok(), rank != 0);
    float count = 0;
    const Status counted = CountRanks(engine, set, &count);
    if (rank == 0) {
      EXPECT_EQ(place.status().message(), "rank 0 does not belong to process set 1");
      EXPECT_EQ(counted.message(), place.status().message());
    } else {
      EXPECT_EQ(place->rank, rank - 1);
      EXPECT_EQ(place->ranks, 2);
      EXPECT_TRUE(counted.ok()) << counted.message();
      EXPECT_EQ(count, 2);
      Promise met;
      ASSERT_TRUE(engine.Barrier("met", met.Callback(), set).ok());
      EXPECT_TRUE(met.Get().ok());
    }
    EXPECT_EQ(engine.MembershipIn(7).status().message(),
              "there is no process set 7: it was removed, or never added");
    EXPECT_EQ(AddSet(engine, "b", {1, 2}), set) << "of the same ranks";
    EXPECT_EQ(AddSet(engine, "c", {0, 1, 2}), kAllRanks);
    MeetAgain(engine);
  });
}

TEST_P(EngineSetsTest, RanksThatDisagreeAreAllTold) {
  EnginesMeet(GetParam(), 3, [](Engine& engine, int rank) {
    Status status;
    AddSet(engine, "a", rank == 2 ? Members{0, 1} : Members{0, 2}, &status);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(),
              "process set 'a': rank 0 submits ranks [0, 2], rank 2 ranks [0, 1]");
    AddSet(engine, "a", {}, &status);
    EXPECT_EQ(status.message(), "process set 'a': rank 0: it is to have no ranks");
    AddSet(engine, "a", {1, 1}, &status);
    EXPECT_EQ(status.message(), "process set 'a': rank 0: it is to have rank 1 twice");
    AddSet(engine, "a", {1, 3}, &status);
    EXPECT_EQ(status.message(),
              "process set 'a': rank 0: it is to have rank 3, and there are 3 ranks");
    const SetId set = AddSet(engine, "a", {1, 2});
    if (rank > 0) {
      // Errors in a set name the ranks by their numbers in the job.
      Request request = Floats("w", static_cast<size_t>(rank));
      request.set = set;
      float values[2] = {};
      Promise done;
      ASSERT_TRUE(engine.AllReduce(request, values, values, done.Callback()).ok());
      EXPECT_EQ(done.Get().message(), "tensor 'w': rank 1 submits float32[1], rank 2 float32[2]");
      request = Floats("w", 1);
      request.set = set;
      request.kind.root = 0;
      Promise sent;
      ASSERT_TRUE(engine.Broadcast(request, values, sent.Callback()).ok());
      EXPECT_EQ(sent.Get().message(),
                "tensor 'w': rank 1: there is no root rank 0 in process set 1");
    }
    EXPECT_EQ(RemoveSet(engine, "r", kAllRanks).message(),
              "process set 0 is that of all ranks, and stays");
    EXPECT_EQ(RemoveSet(engine, "r", 9).message(),
              "process set 9 is not there, or has been removed");
    EXPECT_EQ(RemoveSet(engine, "r", rank == 1 ? set : 9).message(),
              "process set 'r': rank 0 submits process set 9, rank 1 process set 1");
    MeetAgain(engine);
  });
}

TEST_P(EngineSetsTest, WhoWaitsInASetThatGoesIsTold) {
  EnginesMeet(GetParam(), 3, [](Engine& engine, int rank) {
    const SetId set = AddSet(engine, "a", {0, 1, 2});
    EXPECT_EQ(set, kAllRanks);
    const SetId pair = AddSet(engine, "pair", {1, 2});
    Promise waits;
    float value = 1;
    if (rank == 1) {
      Request request = Floats("alone", 1);
      request.set = pair;
      ASSERT_TRUE(engine.AllReduce(request, &value, &value, waits.Callback()).ok());
    }
    const Status removed = RemoveSet(engine, "pair", pair);
    EXPECT_TRUE(removed.ok()) << removed.message();
    if (rank == 1) {
      EXPECT_EQ(waits.Get().message(),
                "process set 1 was removed, while tensor 'alone' waited in it");
    }
    if (rank != 0) {
      EXPECT_EQ(CountRanks(engine, pair, &value).message(),
                "there is no process set 1: it was removed, or never added");
    }
    // Its number is not used again.
    EXPECT_EQ(AddSet(engine, "pair", {1, 2}), pair + 1);
    MeetAgain(engine);
  });
}

/// An operation that all ranks submitted before the set's removal is executed.
TEST_P(EngineSetsTest, WhatWasSubmittedBeforeItGoesIsDone) {
  EnginesMeet(GetParam(), 3, [](Engine& engine, int rank) {
    for (int round = 0; round < 20; ++round) {
      const SetId set = AddSet(engine, "a", {1, 2});
      std::vector<float> values(50, 1);
      std::vector<Promise> done(values.size());
      for (size_t i = 0; rank != 0 && i < values.size(); ++i) {
        Request request = Floats("t" + std::to_string(i), 1);
        request.set = set;
        ASSERT_TRUE(engine.AllReduce(request, &values[i], &values[i], done[i].Callback()).ok());
      }
      const Status removed = RemoveSet(engine, "a", set);
      EXPECT_TRUE(removed.ok()) << removed.message();
      for (size_t i = 0; rank != 0 && i < values.size(); ++i) {
        const Status status = done[i].Get();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(values[i], 2);
      }
    }
    MeetAgain(engine);
  });
}

TEST_P(EngineSetsTest, OneThatHasJoinedCountsInTheSetOfAllRanksOnly) {
  EnginesMeet(GetParam(), 3, [](Engine& engine, int rank) {
    const SetId set = AddSet(engine, "a", {0, 1});
    float count = 0;
    if (rank != 2) {
      EXPECT_TRUE(CountRanks(engine, set, &count).ok());
      EXPECT_EQ(count, 2);
      Status status;
      AddSet(engine, "b", {0, 2}, &status);
      EXPECT_THAT(status.message(), HasSubstr("needs all ranks, and rank 2 has joined"));
    }
    std::promise<int> joined;
    ASSERT_TRUE(engine.Join([&](const Status&, int last) { joined.set_value(last); }).ok());
    auto future = joined.get_future();
    ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
    EXPECT_NE(future.get(), 2);
    MeetAgain(engine);
  });
}

size_t MappedKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssShmem:", 0) == 0) return std::stoul(line.substr(9));
  }
  return 0;
}

/// The memory that ranks share is given back, and the next set begins as the first one did.
TEST_P(EngineSetsTest, ComingAndGoingTakesNoMemory) {
  size_t before = 0, after = 0;
  EnginesMeet(GetParam(), 3, [&](Engine& engine, int rank) {
    for (int round = 0; round < 60; ++round) {
      if (rank == 0 && round == 5) before = MappedKilobytes();
      const std::string name = "s" + std::to_string(round % 3);
      const SetId set = AddSet(engine, name, round % 2 == 0 ? Members{0, 2} : Members{1, 2});
      if (rank == 2 || rank == round % 2) {
        // Longer than a window, and short.
        std::vector<float> values(size_t{3} << 18, 1);
        Request request = Floats("v", values.size());
        request.set = set;
        Promise done;
        ASSERT_TRUE(engine.AllReduce(request, values.data(), values.data(), done.Callback()).ok());
        const Status status = done.Get();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(values, std::vector<float>(values.size(), 2));
        float count = 0;
        ASSERT_TRUE(CountRanks(engine, set, &count).ok());
        ASSERT_EQ(count, 2);
      }
      const Status removed = RemoveSet(engine, name, set);
      ASSERT_TRUE(removed.ok()) << removed.message();
    }
    MeetAgain(engine);
    if (rank == 0) after = MappedKilobytes();
  });
  EXPECT_LE(after, before + 4096);  // of one set some 2500, once for each rank
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineSetsTest,
                         ::testing::Values(Way::kMemory, Way::kTcp, Way::kHosts, Way::kBlocks),
                         NameOfWay);

/// Ranks whose tensors lie in memory that all can reach reduce them there, also in a set.
TEST(EngineSets, BuffersOfArenas) {
  EnginesMeet(Way::kMemory, 4, [](Engine& engine, int rank) {
    const SetId set = AddSet(engine, "a", {1, 3});
    constexpr size_t kCount = 100000;
    const auto arena = engine.arena();
    ASSERT_NE(arena, nullptr);
    auto* const values = static_cast<float*>(arena->Allocate(kCount * sizeof(float)));
    std::fill_n(values, kCount, static_cast<float>(rank));
    for (const SetId one : {set, kAllRanks}) {
      if (one == set && rank % 2 == 0) continue;
      Request request = Floats("v", kCount);
      request.set = one;
      Promise done;
      ASSERT_TRUE(engine.AllReduce(request, values, values, done.Callback()).ok());
      const Status status = done.Get();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    // 0 + 4 + 2 + 4: what the set has reduced before.
    EXPECT_TRUE(std::all_of(values, values + kCount, [](float value) { return value == 10; }));
    MeetAgain(engine);
    EXPECT_TRUE(arena->Free(values));
  });
}

/// A member of one set, while others wait in another one.
TEST(EngineSets, AKilledMember) {
  constexpr int kVictim = 2;
  for (const Way way : {Way::kMemory, Way::kTcp, Way::kHosts}) {
    ProcessStores stores(kRanks);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ProcessStore store(stores.EndOf(rank));
        auto members = Meet(store, MeetingOf(way, rank, kRanks), After(kPatience));
        if (!members.ok()) _exit(3);
        auto engine = std::make_unique<Engine>(std::move(*members), Engine::Options{});
        const SetId with = AddSet(*engine, "with", {1, 2, 3});
        const SetId without = AddSet(*engine, "without", {0, 1, 3});
        std::vector<float> data(600000, 1);
        Status status;
        std::thread killer;
        for (int step = 0; status.ok(); ++step) {
          if (rank == kVictim && step == 3) killer = std::thread([] { kill(getpid(), SIGKILL); });
          float count = 0;
          if (rank != 0) status = CountRanks(*engine, with, &count);
          if (rank != kVictim && status.ok()) status = CountRanks(*engine, without, &count);
        }
        engine.reset();
        _exit(status.code() == Code::kAborted && status.message().rfind("rank 2", 0) == 0 ? 0 : 2);
      }
      processes.push_back(child);
    }
    stores.Serve();
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      int status = 0;
      ASSERT_EQ(waitpid(processes[rank], &status, 0), processes[rank]);
      EXPECT_TRUE(rank == kVictim ? WIFSIGNALED(status) : status == 0) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace tony::collective
