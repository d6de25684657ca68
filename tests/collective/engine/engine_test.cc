// Ranks with an engine each, in one process: named tensors from any thread, in any order.
#include "collective/engine/engine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <random>

#include "tests/collective/engine/engine_ranks.h"

namespace tony::collective {
namespace {

/// Not a matcher's Each(), which takes its time for millions of elements.
template <typename T>
::testing::AssertionResult AreAll(const std::vector<T>& vector, T value) {
  const auto other =
      std::find_if(vector.begin(), vector.end(), [&](T one) { return one != value; });
  if (other == vector.end()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "element " << other - vector.begin() << " is " << *other << " instead of " << value;
}

/// Submits and waits.
Status AllReduce(Engine& engine, Request request, std::vector<float>& vector) {
  Promise done;
  const Status submitted =
      engine.AllReduce(std::move(request), vector.data(), vector.data(), done.Callback());
  return submitted.ok() ? done.Get() : submitted;
}

TEST(EngineTest, OneTensor) {
  EnginesInThreads(3, [](Engine& engine, int rank) {
    std::vector<float> vector(1000, static_cast<float>(rank + 1));
    const Status done = AllReduce(engine, Floats("a", 1000), vector);
    EXPECT_TRUE(done.ok()) << done.message();
    EXPECT_TRUE(AreAll(vector, 6.0F));
    MeetAgain(engine);
  });
}

TEST(EngineTest, OneRankAlone) {
  EnginesInThreads(1, [](Engine& engine, int) {
    std::vector<float> vector(10, 2);
    Request half = Floats("a", 10);
    half.kind.postscale = 0.5;
    EXPECT_TRUE(AllReduce(engine, half, vector).ok());
    EXPECT_TRUE(AreAll(vector, 1.0F));
  });
}

/// 100 tensors of many sizes, in an order of each rank's own, several times.
TEST(EngineTest, AnyOrderAndFused) {
  constexpr int kRanks = 4, kTensors = 100, kSteps = 6;
  const Engine::Options options = {.limits = {.fusion_bytes = 100000, .numbers = 60}};
  EnginesInThreads(
      kRanks,
      [](Engine& engine, int rank) {
        std::mt19937 random(static_cast<unsigned>(rank));
        for (int step = 0; step < kSteps; ++step) {
          std::vector<int> order(kTensors);
          std::iota(order.begin(), order.end(), 0);
          std::shuffle(order.begin(), order.end(), random);
          std::vector<std::vector<float>> vectors(kTensors);
          std::vector<Promise> done(kTensors);
          for (const int tensor : order) {
            auto& vector = vectors[static_cast<size_t>(tensor)];
            vector.assign(static_cast<size_t>(tensor * tensor * 3),
                          static_cast<float>(rank + tensor));
            Request request = Floats("tensor." + std::to_string(tensor), vector.size());
            request.kind.prescale = tensor % 5 == 0 ? 2 : 1;
            ASSERT_TRUE(engine
                            .AllReduce(request, vector.data(), vector.data(),
                                       done[static_cast<size_t>(tensor)].Callback())
                            .ok());
          }
          for (int tensor = 0; tensor < kTensors; ++tensor) {
            const Status status = done[static_cast<size_t>(tensor)].Get();
            ASSERT_TRUE(status.ok()) << status.message();
            const int sum = (4 * tensor + 6) * (tensor % 5 == 0 ? 2 : 1);
            ASSERT_TRUE(AreAll(vectors[static_cast<size_t>(tensor)], static_cast<float>(sum)));
          }
        }
        MeetAgain(engine);
      },
      options);
}

TEST(EngineTest, LargeWholeNumbersKeepTheirBits) {
  EnginesInThreads(2, [](Engine& engine, int) {
    const int64_t large = (int64_t{1} << 61) + 1;
    std::vector<std::vector<int64_t>> vectors(2, std::vector<int64_t>(3, large));
    std::vector<Promise> done(2);
    for (size_t i = 0; i < 2; ++i) {  // of one group, so that they are fused
      Request request = Floats("n" + std::to_string(i), 3);
      request.kind.type = DataType::kInt64;
      request.group = "g";
      request.group_size = 2;
      ASSERT_TRUE(
          engine.AllReduce(request, vectors[i].data(), vectors[i].data(), done[i].Callback()).ok());
    }
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(done[i].Get().ok());
      EXPECT_TRUE(AreAll(vectors[i], 2 * large));
    }
    MeetAgain(engine);
  });
}

TEST(EngineTest, ADisagreementIsToldOnAllRanksAndTheRestGoesOn) {
  EnginesInThreads(3, [](Engine& engine, int rank) {
    std::vector<float> vector(10, 1);
    const Status wrong = AllReduce(engine, Floats("w", rank == 2 ? 9 : 10), vector);
    EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
    EXPECT_EQ(wrong.message(), "tensor 'w': rank 0 submits float32[10], rank 2 float32[9]");
    EXPECT_TRUE(AreAll(vector, 1.0F));
    const Status right = AllReduce(engine, Floats("w", 10), vector);
    EXPECT_TRUE(right.ok()) << right.message();
    EXPECT_TRUE(AreAll(vector, 3.0F));
    MeetAgain(engine);
  });
}

TEST(EngineTest, ANameThatIsOnItsWayIsRefused) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    std::vector<float> vector(10, 1), other(10, 1);
    Promise first;
    if (rank == 0) {
      ASSERT_TRUE(
          engine.AllReduce(Floats("a", 10), vector.data(), vector.data(), first.Callback()).ok());
      const Status twice = AllReduce(engine, Floats("a", 10), other);
      EXPECT_EQ(twice.code(), Code::kInvalidArgument);
      EXPECT_EQ(twice.message(),
                "tensor 'a' is on its way already: wait for it, or call this one otherwise");
      MeetAgain(engine);
      EXPECT_TRUE(first.Get().ok());
    } else {
      MeetAgain(engine);  // before that the first one is not to be done
      EXPECT_TRUE(AllReduce(engine, Floats("a", 10), vector).ok());
    }
  });
}

TEST(EngineTest, NegativeLengthsAreRefused) {
  EnginesInThreads(1, [](Engine& engine, int) {
    std::vector<float> vector(1);
    Request request = Floats("a", 1);
    request.shape = {2, -3};
    EXPECT_EQ(AllReduce(engine, request, vector).message(),
              "tensor 'a' has a negative length: float32[2, -3]");
  });
}

/// Rank r has r batches more than rank 0.
TEST(EngineTest, UnevenDataWithJoin) {
  EnginesInThreads(3, [](Engine& engine, int rank) {
    for (int batch = 0; batch <= rank; ++batch) {
      std::vector<float> vector(10, 1);
      const Status done = AllReduce(engine, Floats("gradient", 10), vector);
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_TRUE(AreAll(vector, static_cast<float>(3 - batch)));
    }
    std::promise<int> joined;
    ASSERT_TRUE(engine
                    .Join([&](const Status& status, int last) {
                      EXPECT_TRUE(status.ok()) << status.message();
                      joined.set_value(last);
                    })
                    .ok());
    auto future = joined.get_future();
    ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
    EXPECT_EQ(future.get(), 2);
    MeetAgain(engine);
  });
}

TEST(EngineTest, WhoWaitsIsToldWhenARankLeaves) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    if (rank == 1) return;
    std::vector<float> vector(10);
    const Status ended = AllReduce(engine, Floats("a", 10), vector);
    const std::string why = "rank 1 has left: its program has ended, or has called hvd.shutdown()";
    EXPECT_EQ(ended.message(), why);
    // And so is whoever comes later.
    EXPECT_EQ(AllReduce(engine, Floats("b", 10), vector).message(), why);
  });
}

TEST(EngineTest, WhoWaitsIsToldWhenItIsShutDown) {
  auto acceptor = HostAcceptor::Open();
  ASSERT_TRUE(acceptor.ok());
  std::vector<float> vector(10);
  Promise done;
  std::thread other([&] {
    auto members = MeetAtAcceptor(**acceptor, 1, 2);
    ASSERT_NE(members, nullptr);
    Engine engine(std::move(members), {});
    EXPECT_TRUE(
        engine.AllReduce(Floats("a", 10), vector.data(), vector.data(), done.Callback()).ok());
  });
  auto members = MeetAtAcceptor(**acceptor, 0, 2);
  ASSERT_NE(members, nullptr);
  Engine engine(std::move(members), {});
  other.join();
  EXPECT_EQ(done.Get().code(), Code::kFailedPrecondition);
}

/// Any of three processes; the other two are told which one, though not connected to each other.
TEST(EngineTest, AKilledProcess) {
  constexpr int kRanks = 3;
  for (int victim = 0; victim < kRanks; ++victim) {
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok());
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto members = MeetAtAcceptor(**acceptor, rank, kRanks);
        if (members == nullptr) _exit(1);
        auto engine = std::make_unique<Engine>(std::move(members), Engine::Options{});
        std::vector<float> vector(100000, 1);
        Status status;
        for (int step = 0; status.ok(); ++step) {
          if (rank == victim && step == 20) kill(getpid(), SIGKILL);
          status = AllReduce(*engine, Floats("a", vector.size()), vector);
        }
        engine.reset();  // an end without it would be taken for one more failure
        const std::string named = "rank " + std::to_string(victim);
        _exit(status.code() == Code::kAborted && status.message().rfind(named, 0) == 0 ? 0 : 2);
      }
      processes.push_back(child);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = 0;
      const pid_t process = processes[static_cast<size_t>(rank)];
      ASSERT_EQ(waitpid(process, &status, 0), process);
      EXPECT_TRUE(rank == victim || status == 0) << "rank " << rank << ", victim " << victim;
    }
  }
}

/// Its failure is its own at first: the others have done their part, and one of them comes late.
TEST(EngineTest, WhoWaitsInVainTellsTheOthers) {
  constexpr int kRanks = 3;
  auto acceptor = HostAcceptor::Open();
  ASSERT_TRUE(acceptor.ok());
  std::promise<void> failed;
  const std::shared_future<void> has_failed = failed.get_future().share();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      auto members = MeetAtAcceptor(**acceptor, rank, kRanks);
      ASSERT_NE(members, nullptr);
      Engine::Options options;
      if (rank == 1) options.patience = std::chrono::seconds(1);
      Engine engine(std::move(members), options);
      // Decided together, and of two kinds: rank 0 holds the second one up.
      std::vector<float> first(1), second(1);
      Tensor sum = {.request = Floats("sum", 1), .in = first.data(), .out = first.data()};
      Tensor most = {.request = Floats("most", 1), .in = second.data(), .out = second.data()};
      most.request.kind.reduce = ReduceOp::kMax;
      sum.on_done = [&](const Status&) {
        if (rank == 0) has_failed.wait_for(kPatience);
      };
      Promise done;
      most.on_done = done.Callback();
      ASSERT_TRUE(engine.Submit({sum, most}, "both").ok());
      const Status status = done.Get();
      if (rank == 1) {
        EXPECT_EQ(status.code(), Code::kDeadlineExceeded) << status.message();
        EXPECT_TRUE(status.message().starts_with("rank 0 of this host has not come in ") &&
                    status.message().ends_with(" ms, in the operation on 'most'"))
            << status.message();
        failed.set_value();
      }
      std::vector<float> third(1);
      const Status next = AllReduce(engine, Floats("next", 1), third);
      EXPECT_NE(next.message().find("has not come"), std::string::npos) << next.message();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tony::collective
