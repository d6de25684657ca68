// Operations of engines: at the edges, and what is told of errors and of ranks that are killed. Any
// tensors in any order: engine_any_order_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/engine/engine_ranks.h"

namespace tony::collective {
namespace {

using ::testing::ElementsAre;
/// Large enough for windows, in tensors that lie where they are.
TEST(EngineOperations, LargeOnes) {
  constexpr size_t kRows = 300001;
  EnginesInThreads(3, [](Engine& engine, int rank) {
    const auto value = static_cast<float>(rank + 1);
    std::vector<float> in(kRows, value);
    Promise gathered, scattered, exchanged, sent;
    ASSERT_TRUE(engine.AllGather(Floats("g", kRows), in.data(), gathered.OutputCallback()).ok());
    ASSERT_TRUE(
        engine.ReduceScatter(Floats("s", kRows), in.data(), scattered.OutputCallback()).ok());
    Request splits = Floats("x", kRows);
    splits.splits = {static_cast<int64_t>(kRows) - 2, 1, 1};
    ASSERT_TRUE(engine.AllToAll(splits, in.data(), exchanged.OutputCallback()).ok());
    std::vector<float> data(kRows, value);
    Request root = Floats("b", kRows);
    root.kind.root = 2;
    ASSERT_TRUE(engine.Broadcast(root, data.data(), sent.Callback()).ok());

    const auto all = gathered.GetAll();
    ASSERT_TRUE(all.first.ok()) << all.first.message();
    EXPECT_THAT(all.second.shape, ElementsAre(3 * kRows));
    const auto* floats = reinterpret_cast<const float*>(all.second.data.get());
    for (size_t i = 0; i < 3 * kRows; ++i) {
      ASSERT_EQ(floats[i], static_cast<float>(i / kRows + 1));
    }
    const auto part = scattered.GetAll();
    ASSERT_TRUE(part.first.ok()) << part.first.message();
    EXPECT_THAT(part.second.shape, ElementsAre(kRows / 3 + (rank == 0 ? 1 : 0)));
    floats = reinterpret_cast<const float*>(part.second.data.get());
    EXPECT_TRUE(std::all_of(floats, floats + part.second.shape[0], [](float f) { return f == 6; }));
    const auto [status, output] = exchanged.GetAll();
    ASSERT_TRUE(status.ok()) << status.message();
    const int64_t from_each = rank == 0 ? static_cast<int64_t>(kRows) - 2 : 1;
    EXPECT_THAT(output.splits, ElementsAre(from_each, from_each, from_each));
    EXPECT_EQ(reinterpret_cast<const float*>(output.data.get())[2 * from_each], 3);
    EXPECT_TRUE(sent.Get().ok());
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](float f) { return f == 3; }));
    MeetAgain(engine);
  });
}

/// Also in their fused vector each has its own factors.
TEST(EngineOperations, AdasumOfEachTensorOnItsOwn) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    std::vector<std::vector<double>> vectors = {{3, 4}, {rank == 0 ? 1.0 : 0.0, rank * 5.0}, {2}};
    std::vector<Promise> done(vectors.size());
    std::vector<Tensor> tensors(vectors.size());
    for (size_t i = 0; i < vectors.size(); ++i) {
      tensors[i].request = Floats("t" + std::to_string(i), vectors[i].size());
      tensors[i].request.kind = {.type = DataType::kFloat64, .reduce = ReduceOp::kAdasum};
      tensors[i].in = tensors[i].out = vectors[i].data();
      tensors[i].on_done = done[i].Callback();
    }
    ASSERT_TRUE(engine.Submit(std::move(tensors), "group").ok());
    for (Promise& one : done) EXPECT_TRUE(one.Get().ok());
    EXPECT_THAT(vectors[0], ElementsAre(3, 4));  // the same: their average
    EXPECT_THAT(vectors[1], ElementsAre(1, 5));  // orthogonal: their sum
    EXPECT_THAT(vectors[2], ElementsAre(2));
    MeetAgain(engine);
  });
}

TEST(EngineOperations, AveragesOfWholeNumbersAreCut) {
  EnginesInThreads(3, [](Engine& engine, int rank) {
    // Sums 9, -8 and 3 · 2^40.
    std::vector<int64_t> values = {rank * 3, rank == 0 ? -8 : 0, int64_t{1} << 40};
    Request request = Floats("a", 3);
    request.kind = {.type = DataType::kInt64, .reduce = ReduceOp::kAverage};
    Promise done;
    ASSERT_TRUE(engine.AllReduce(request, values.data(), values.data(), done.Callback()).ok());
    EXPECT_TRUE(done.Get().ok());
    EXPECT_THAT(values, ElementsAre(3, -2, int64_t{1} << 40));
    MeetAgain(engine);
  });
}

/// All ranks are told of one rank's mistake, and the other operations continue.
TEST(EngineOperations, AllRanksAreToldOfAFault) {
  struct Fault {
    Operation operation;
    std::function<void(Request&, int rank)> change;
    std::string message;
  };
  const std::vector<Fault> faults = {
      {Operation::kAllGather,
       [](Request& r, int rank) {
         if (rank == 1) r.shape = {};
       },
       "tensor 'x': rank 1: allgather needs a first dimension"},
      {Operation::kAllGather,
       [](Request& r, int rank) {
         r.shape = {rank, 2 + rank / 2};
       },
       "tensor 'x': rank 0 submits float32[0, 2], rank 2 float32[2, 3]"},
      {Operation::kBroadcast, [](Request& r, int rank) { r.kind.root = rank / 2; },
       "tensor 'x': rank 0 submits root rank 0, rank 2 root rank 1"},
      {Operation::kBroadcast, [](Request& r, int) { r.kind.root = 3; },
       "tensor 'x': rank 0: there is no root rank 3"},
      {Operation::kReduceScatter, [](Request& r, int) { r.kind.reduce = ReduceOp::kAdasum; },
       "tensor 'x': rank 0: there is no adasum reducescatter of float32"},
      {Operation::kAllReduce,
       [](Request& r, int) { r.kind = {.type = DataType::kBool, .reduce = ReduceOp::kAverage}; },
       "tensor 'x': rank 0: there is no average allreduce of bool"},
      {Operation::kAllToAll, [](Request& r, int rank) { r.shape = {rank == 2 ? 7 : 6}; },
       "tensor 'x': rank 2: its 7 rows cannot be split evenly among 3 ranks, and no splits are "
       "given"},
      {Operation::kAllToAll,
       [](Request& r, int rank) {
         if (rank == 1) r.splits = {6, -1, 1};
       },
       "tensor 'x': rank 1: it has a split of -1 rows of 6"},
      {Operation::kAllToAll,
       [](Request& r, int rank) {
         if (rank == 1) r.splits = {3, 4, 0};
       },
       "tensor 'x': rank 1: its 3 splits with 7 rows do not fit to 3 ranks and 6 rows"},
  };
  EnginesInThreads(3, [&](Engine& engine, int rank) {
    std::vector<float> vector(100, 1);
    for (const Fault& fault : faults) {
      Promise done;
      std::vector<Tensor> tensors(1);
      Tensor& tensor = tensors[0];
      tensor.request = Floats("x", 6);
      fault.change(tensor.request, rank);
      tensor.request.kind.operation = fault.operation;
      tensor.in = tensor.out = vector.data();
      tensor.on_done = done.Callback();
      ASSERT_TRUE(engine.Submit(std::move(tensors)).ok());
      const Status status = done.Get();
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      EXPECT_EQ(status.message(), fault.message);
    }
    MeetAgain(engine);
  });
}

/// Whatever the others have, and of all types.
TEST(EngineOperations, WhoHasJoinedChangesNoResult) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    std::promise<void> joined;
    const auto join = [&] {
      ASSERT_TRUE(engine.Join([&](const Status&, int) { joined.set_value(); }).ok());
    };
    if (rank == 1) join();
    for (size_t type = 0; rank == 0 && type < kDataTypes; ++type) {
      for (const ReduceOp op :
           {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
        Request request = {.name = "t" + std::to_string(type) + std::string(NameOf(op)),
                           .shape = {40}};
        request.kind.type = static_cast<DataType>(type);
        request.kind.reduce = op;
        // Floating-point types get some values, half of them negative; integers get all values.
        Bytes vector(40 * SizeOf(request.kind.type));
        for (size_t i = 0; i < vector.size(); ++i) {
          vector[i] = static_cast<unsigned char>(request.kind.type == DataType::kBool ? i % 2
                                                 : i % 4 == 3 ? 0x40 + i % 8 * 16
                                                              : i);
        }
        const Bytes before = vector;
        Promise reduced;
        ASSERT_TRUE(
            engine.AllReduce(request, vector.data(), vector.data(), reduced.Callback()).ok());
        EXPECT_TRUE(reduced.Get().ok());
        EXPECT_EQ(vector, before) << request.name;
      }
    }
    if (rank == 0) join();
    EXPECT_EQ(joined.get_future().wait_for(kPatience), std::future_status::ready);
    MeetAgain(engine);
  });
}

TEST(EngineOperations, OnlyAnAllReduceGoesOnWithoutJoinedRanks) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    std::promise<void> joined;
    const auto join = [&] {
      const auto on_joined = [&](const Status& status, int) {
        EXPECT_TRUE(status.ok()) << status.message();
        joined.set_value();
      };
      ASSERT_TRUE(engine.Join(on_joined).ok());
    };
    if (rank == 1) join();
    if (rank == 0) {
      std::vector<float> vector = {1, 2};
      Promise gathered, reduced;
      ASSERT_TRUE(engine.AllGather(Floats("g", 2), vector.data(), gathered.OutputCallback()).ok());
      EXPECT_EQ(gathered.Get().message(),
                "tensor 'g': allgather needs all ranks, and rank 1 has joined: only an allreduce "
                "can do without its data");
      // The average is of all ranks, as with Horovod.
      Request average = Floats("r", 2);
      average.kind.reduce = ReduceOp::kAverage;
      ASSERT_TRUE(engine.AllReduce(average, vector.data(), vector.data(), reduced.Callback()).ok());
      EXPECT_TRUE(reduced.Get().ok());
      EXPECT_THAT(vector, ElementsAre(0.5F, 1.0F));
      join();
    }
    EXPECT_EQ(joined.get_future().wait_for(kPatience), std::future_status::ready);
    MeetAgain(engine);
  });
}

TEST(EngineOperations, AllOfAGroupOrNone) {
  EnginesInThreads(1, [](Engine& engine, int) {
    float value = 1;
    const auto tensor = [&](const std::string& name, Promise& done) {
      Tensor one;
      one.request = Floats(name, 1);
      one.in = one.out = &value;
      one.on_done = done.Callback();
      return one;
    };
    Promise first, second, third;
    std::vector<Tensor> tensors;
    tensors.push_back(tensor("a", first));
    tensors.push_back(tensor("b", second));
    tensors.push_back(tensor("a", third));
    EXPECT_EQ(engine.Submit(std::move(tensors), "group").message(),
              "tensor 'a' is on its way already: wait for it, or call this one otherwise");
    for (const char* name : {"a", "b"}) {
      Promise again;
      ASSERT_TRUE(engine.AllReduce(Floats(name, 1), &value, &value, again.Callback()).ok());
      EXPECT_TRUE(again.Get().ok());
    }
    EXPECT_TRUE(engine.Submit({}, "group").ok());
  });
}

/// A size that no memory holds is refused by its arithmetic. If only this memory is too small, all
/// ranks are told.
TEST(EngineOperations, SizesByArithmetic) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    Request huge = {.name = "huge", .shape = {int64_t{1} << 40, int64_t{1} << 40}};
    EXPECT_EQ(engine.AllGather(huge, nullptr, Promise().OutputCallback()).message(),
              "tensor 'huge' is larger than any memory: float32[1099511627776, 1099511627776]");
    // 2^33 elements of which each rank has none.
    Request none = {.name = "none", .shape = {0, int64_t{1} << 33}};
    Promise nothing;
    ASSERT_TRUE(engine.AllGather(none, nullptr, nothing.OutputCallback()).ok());
    const auto [status, output] = nothing.GetAll();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(output.shape, ElementsAre(0, int64_t{1} << 33));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process then
    // Never read: before that, no address space has room for the 2^47 bytes of the result.
    Request large = {.name = "large", .shape = {int64_t{1} << 45}};
    large.kind.type = DataType::kInt16;
    large.shape[0] -= rank;
    Promise done;
    ASSERT_TRUE(engine.AllGather(large, nullptr, done.OutputCallback()).ok());
    const Status failed = done.Get();
    EXPECT_TRUE(failed.code() == Code::kResourceExhausted || failed.code() == Code::kAborted)
        << failed.message();
#else
    EXPECT_LT(rank, 2);
    MeetAgain(engine);
#endif
  });
}

/// By its number, submitted and done.
Status RunOperation(Engine& engine, int what, std::vector<float>& data) {
  Request request = Floats("t", data.size());
  request.kind.root = 1;
  Promise done;
  Status submitted;
  if (what == 0) submitted = engine.AllGather(request, data.data(), done.OutputCallback());
  if (what == 1) submitted = engine.Broadcast(request, data.data(), done.Callback());
  if (what == 2) submitted = engine.ReduceScatter(request, data.data(), done.OutputCallback());
  if (what == 3) submitted = engine.AllToAll(request, data.data(), done.OutputCallback());
  if (what == 4) {
    request.kind.reduce = ReduceOp::kAdasum;
    submitted = engine.AllReduce(request, data.data(), data.data(), done.Callback());
  }
  return submitted.ok() ? done.Get() : submitted;
}

/// Rank 1 of three processes, at any moment of a row of operations.
TEST(EngineOperations, AKilledProcess) {
  constexpr int kRanks = 3, kVictim = 1;
  for (int what = 0; what < 5; ++what) {
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok());
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto engine =
            std::make_unique<Engine>(MeetAtAcceptor(**acceptor, rank, kRanks), Engine::Options{});
        std::vector<float> data(600000, 1);
        Status status;
        std::thread killer;
        for (int step = 0; status.ok(); ++step) {
          if (rank == kVictim && step == 3) killer = std::thread([] { kill(getpid(), SIGKILL); });
          status = RunOperation(*engine, what, data);
        }
        engine.reset();
        _exit(status.code() == Code::kAborted && status.message().rfind("rank 1", 0) == 0 ? 0 : 2);
      }
      processes.push_back(child);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = 0;
      const pid_t process = processes[static_cast<size_t>(rank)];
      ASSERT_EQ(waitpid(process, &status, 0), process);
      EXPECT_TRUE(rank == kVictim ? WIFSIGNALED(status) : status == 0)
          << "rank " << rank << ", operation " << what;
    }
  }
}

}  // namespace
}  // namespace tony::collective
