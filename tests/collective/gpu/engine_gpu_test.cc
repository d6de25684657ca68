// All operations of engines on GPUs, among those of hosts: results, joined ranks, and what
// overlaps.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tests/collective/engine/tensor_case.h"
#include "tests/collective/gpu/engine_rig.h"
#include "tests/collective/meeting/meeting_ranks.h"

namespace tony::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Whether GPUs do it, and to the same bits: NCCL's averages are rounded in other places.
bool FitsGpu(const Request& request) {
  const Kind& kind = request.kind;
  if (!Reduces(kind.operation)) return true;
  const bool average = kind.reduce == ReduceOp::kAverage && IsFloating(kind.type);
  const bool adasum = kind.reduce == ReduceOp::kAdasum;
  return kind.type != DataType::kInt16 && kind.type != DataType::kUint16 && !average && !adasum;
}

class GpuEnginesTest : public GpuEngineTest, public ::testing::WithParamInterface<int> {
 protected:
  struct Case {
    TensorCase tensor;
    bool on_gpu;
  };
  using Cases = std::vector<Case>;

  /// One rank's data of a case.
  struct Part {
    Bytes host;
    std::unique_ptr<GpuArray> gpu;
    std::unique_ptr<Event> ready;
    Promise done;
  };

  /// Half of the GPU's tensors get their content later, by the framework's stream.
  Tensor Prepare(const Case& one, size_t rank, Part& part, Stream& framework, bool late) {
    part.host = one.tensor.in[rank];
    Tensor tensor = one.tensor.Submission(rank, part.host, /*in_place=*/true);
    if (one.tensor.HasOutput()) {
      tensor.on_output = part.done.OutputCallback();
    } else {
      tensor.on_done = part.done.Callback();
    }
    if (!one.on_gpu) return tensor;
    tensor.request.kind.device = DeviceType::kGpu;
    const Bytes content = late ? Bytes(part.host.size(), 0xee) : part.host;
    part.gpu = std::make_unique<GpuArray>(OpenDevice(static_cast<int>(rank)), content);
    tensor.in = tensor.out = part.gpu->data();
    if (!late) return tensor;
    OnStream(framework.handle(), [&part] { part.gpu->Fill(part.host); });
    auto ready = Event::Create(OpenDevice(static_cast<int>(rank)));
    EXPECT_TRUE(ready.ok() && framework.Record(**ready).ok());
    part.ready = std::move(*ready);
    tensor.gpu.ready = part.ready->handle();
    return tensor;
  }

  void SubmitAndCheck(Engine& engine, size_t rank, const Cases& cases, unsigned seed) {
    std::mt19937 random(seed * 100 + static_cast<unsigned>(rank));
    std::vector<size_t> order(cases.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto framework = NewStream(OpenDevice(static_cast<int>(rank)));
    std::vector<Part> parts(cases.size());
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t at = order[i];
      tensors.push_back(
          Prepare(cases[at], rank, parts[at], *framework, /*late=*/random() % 2 == 0));
      if (tensors.size() < 5 && i + 1 < order.size()) continue;
      const Status submitted = engine.Submit(std::exchange(tensors, {}));
      EXPECT_TRUE(submitted.ok()) << submitted.message();
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto [status, output] = parts[i].done.GetAll();
      if (cases[i].on_gpu && !cases[i].tensor.HasOutput()) parts[i].host = parts[i].gpu->content();
      cases[i].tensor.Check(rank, parts[i].host, status, output);
    }
  }
};

/// Some steps with the same tensors, so that they have numbers.
TEST_P(GpuEnginesTest, TensorsOfHostsAndGpusInAnyOrder) {
  const int ranks = GetParam();
  std::mt19937 random(static_cast<unsigned>(ranks));
  Cases cases;
  int on_gpus = 0;
  for (const Kind& kind : AllKinds(random)) {
    const auto number = static_cast<unsigned>(cases.size());
    TensorCase tensor("tensor." + std::to_string(number), kind, number,
                      HostsOf(Way::kMemory, ranks));
    const bool on_gpu = FitsGpu(tensor.requests[0]) && random() % 3 != 0;
    on_gpus += on_gpu ? 1 : 0;
    cases.push_back({std::move(tensor), on_gpu});
  }
  ASSERT_GT(on_gpus, 40);
  Engine::Options options = Options();
  options.limits = {.fusion_bytes = 100000, .numbers = 100};
  EnginesInThreads(
      ranks,
      [&](Engine& engine, int rank) {
        for (unsigned step = 0; step < 3 && !HasFailure(); ++step) {
          SubmitAndCheck(engine, static_cast<size_t>(rank), cases, step);
        }
        MeetAgain(engine);
      },
      options);
}

INSTANTIATE_TEST_SUITE_P(Ranks, GpuEnginesTest, ::testing::Values(1, 2, 3, 4),
                         ::testing::PrintToStringParamName());

/// Exact ones, since NCCL divides where a CPU multiplies. Those of integers are among the above.
TEST_F(GpuEngineTest, AveragesOfEachFloatingType) {
  EnginesInThreads(
      4,
      [&](Engine& engine, int rank) {
        for (const DataType type : kFloatingTypes) {
          const double mine = 4.0 * rank;  // 0, 4, 8, 12
          const GpuArray array(OpenDevice(rank), FromNumbers({mine, 8}, type));
          Promise done, scattered;
          Tensor tensor = OnGpu("a" + std::string(NameOf(type)), array, 2, done);
          tensor.request.kind.type = type;
          tensor.request.kind.reduce = ReduceOp::kAverage;
          tensor.request.kind.prescale = 2;
          ASSERT_TRUE(SubmitOne(engine, tensor).ok());
          const Status status = done.Get();
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_THAT(Numbers(array.content(), type), ElementsAre(12, 16));
          // The same, cut.
          tensor.request.name += ".cut";
          tensor.request.kind.prescale = 1;
          tensor.out = nullptr;
          tensor.on_done = nullptr;
          tensor.on_output = scattered.OutputCallback();
          tensor.request.kind.operation = Operation::kReduceScatter;
          ASSERT_TRUE(SubmitOne(engine, tensor).ok());
          const auto [cut, output] = scattered.GetAll();
          ASSERT_TRUE(cut.ok()) << cut.message();
          ASSERT_EQ(output.shape[0], rank < 2 ? 1 : 0);
          if (rank >= 2) continue;
          const auto* const bytes = reinterpret_cast<const unsigned char*>(output.data.get());
          EXPECT_THAT(Numbers(Bytes(bytes, bytes + SizeOf(type)), type),
                      ElementsAre(rank == 0 ? 12 : 16));
        }
        MeetAgain(engine);
      },
      Options());
}

/// Only rank 0, once, and whatever is on the way: each of the ranks would say the same.
TEST_F(GpuEngineTest, TransportsAreSaidOnce) {
  Engine::Options options = Options();
  options.nccl.ptx = "";
  EnginesInThreads(
      2,
      [&](Engine& engine, int rank) {
        ExpectHostWorks(engine, "host", 2);
        EXPECT_TRUE(said().empty());
        for (int i = 0; i < 3; ++i) {
          float value = 1;
          EXPECT_TRUE(Sum(engine, rank, "g" + std::to_string(i), &value).ok());
          EXPECT_EQ(value, 2);
        }
        MeetAgain(engine);
      },
      options);
  ASSERT_EQ(said().size(), 1U);
  EXPECT_THAT(said()[0], HasSubstr("NCCL 2.28.9 on a driver for CUDA 13.0; GPU 0 (Double 0)"));
  EXPECT_THAT(said()[0], HasSubstr("; no kernel for fused copies"));
}

TEST_F(GpuEngineTest, AJoinedRankTakesPartWithZeros) {
  EnginesInThreads(
      3,
      [&](Engine& engine, int rank) {
        std::promise<Status> joined;
        const auto join = [&](int gpu) {
          const Status asked = engine.Join(
              [&](const Status& status, int /*last*/) { joined.set_value(status); }, gpu);
          ASSERT_TRUE(asked.ok()) << asked.message();
        };
        // Rank 2 has never submitted anything, so it has to say which GPU it uses.
        if (rank == 2) join(2);
        if (rank != 2) {
          for (int i = 0; i < 3; ++i) {
            std::vector<Promise> done(3);
            std::vector<GpuArray> arrays;
            std::vector<Tensor> tensors;
            for (size_t j = 0; j < done.size(); ++j) {
              arrays.emplace_back(OpenDevice(rank), FloatBytes({1, 3}));
              const std::string name = std::to_string(i) + "." + std::to_string(j);
              tensors.push_back(OnGpu(name, arrays[j], 2, done[j]));
              tensors[j].request.kind.reduce = j == 2 ? ReduceOp::kAverage : ReduceOp::kSum;
            }
            ASSERT_TRUE(engine.Submit(std::move(tensors)).ok());
            for (size_t j = 0; j < done.size(); ++j) {
              const Status status = done[j].Get();
              ASSERT_TRUE(status.ok()) << status.message();
              EXPECT_EQ(arrays[j].floats()[1], j == 2 ? 2 : 6);  // divided by all three
            }
          }
          join(-1);
        }
        auto all = joined.get_future();
        ASSERT_EQ(all.wait_for(kPatience), std::future_status::ready);
        EXPECT_TRUE(all.get().ok());
        MeetAgain(engine);
      },
      Options());
}

/// Each set has a group of GPUs of its own, and they take turns on a GPU.
TEST_F(GpuEngineTest, ProcessSetsHaveTheirOwnGroups) {
  EnginesInThreads(
      3,
      [&](Engine& engine, int rank) {
        Promise added;
        ASSERT_TRUE(engine.AddSet("set", {0, 2}, added.OutputCallback()).ok());
        const auto [made, set] = added.GetAll();
        ASSERT_TRUE(made.ok()) << made.message();
        for (int i = 0; i < 5; ++i) {
          const GpuArray of_all(OpenDevice(rank), FloatBytes({1}));
          const GpuArray of_set(OpenDevice(rank), FloatBytes({static_cast<float>(rank)}));
          Promise all, some;
          ASSERT_TRUE(SubmitOne(engine, OnGpu("t", of_all, 1, all)).ok());
          if (rank != 1) {
            Tensor tensor = OnGpu("t", of_set, 1, some);
            tensor.request.set = set.set;
            ASSERT_TRUE(SubmitOne(engine, std::move(tensor)).ok());
            EXPECT_TRUE(some.Get().ok());
            EXPECT_EQ(of_set.floats()[0], 2);
          }
          EXPECT_TRUE(all.Get().ok());
          EXPECT_EQ(of_all.floats()[0], 3);
        }
        Promise removed;
        ASSERT_TRUE(engine.RemoveSet("gone", set.set, removed.Callback()).ok());
        EXPECT_TRUE(removed.Get().ok());
        MeetAgain(engine);
      },
      Options());
  EXPECT_EQ(said().size(), 1U);
  EXPECT_EQ(fake().destroyed, 5);
}

class GpuOverlapTest : public GpuEngineTest {
 protected:
  /// A framework that computes until it is told to end.
  struct Framework {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> ready;
    std::promise<void> computed;
  };
  std::unique_ptr<Framework> Compute(int gpu, GpuArray& array, float value) {
    auto framework = std::make_unique<Framework>();
    framework->stream = NewStream(OpenDevice(gpu));
    auto event = Event::Create(OpenDevice(gpu));
    EXPECT_TRUE(event.ok());
    framework->ready = std::move(*event);
    OnStream(framework->stream->handle(), [one = framework.get(), &array, value] {
      one->computed.get_future().wait();
      array.Fill(FloatBytes({value}));
    });
    EXPECT_TRUE(framework->stream->Record(*framework->ready).ok());
    return framework;
  }
};

TEST_F(GpuOverlapTest, TheHostAndOtherOperationsGoOnWhileTheGpuWorks) {
  EnginesInThreads(
      2,
      [&](Engine& engine, int rank) {
        GpuArray array(OpenDevice(rank), FloatBytes({-1}));
        const auto framework = Compute(rank, array, 7);
        Promise done;
        Issued issued;
        Tensor tensor = OnGpu("g", array, 1, done);
        tensor.gpu = {.ready = framework->ready->handle(), .on_issued = issued.Callback()};
        ASSERT_TRUE(SubmitOne(engine, tensor).ok());
        const std::shared_ptr<Event> event = issued.Get();
        ASSERT_NE(event, nullptr);
        EXPECT_FALSE(*event->Fired());
        ExpectHostWorks(engine, "host", 2);
        // The framework's next step waits for the result, and the host for nothing.
        float seen = 0;
        ASSERT_TRUE(event->BlockStream(framework->stream->handle()).ok());
        OnStream(framework->stream->handle(), [&] { seen = array.floats()[0]; });
        framework->computed.set_value();
        Drain(*framework->stream);
        EXPECT_EQ(seen, 14);
        EXPECT_TRUE(done.Get().ok());
        MeetAgain(engine);
      },
      Options());
}

TEST_F(GpuOverlapTest, WhatBecomesReadyWhileTheGpuIsBusyIsFused) {
  EnginesInThreads(
      1,
      [&](Engine& engine, int rank) {
        GpuArray first(OpenDevice(rank), FloatBytes({0}));
        const auto framework = Compute(rank, first, 7);
        constexpr size_t kTensors = 12;
        std::vector<Promise> done(kTensors);
        std::vector<GpuArray> arrays;
        for (size_t i = 0; i < kTensors; ++i) {
          arrays.emplace_back(OpenDevice(rank), FloatBytes({1}));
          Issued issued;
          Tensor tensor = OnGpu(std::to_string(i), arrays[i], 1, done[i]);
          if (i < GpuPlane::kMostIssued) tensor.gpu.on_issued = issued.Callback();
          if (i == 0) tensor.gpu.ready = framework->ready->handle();
          ASSERT_TRUE(SubmitOne(engine, tensor).ok());
          if (i < GpuPlane::kMostIssued) {
            EXPECT_NE(issued.Get(), nullptr);
          }
        }
        framework->computed.set_value();
        for (Promise& one : done) EXPECT_TRUE(one.Get().ok());
      },
      Options());
  EXPECT_GE(fake().operations, 3);
  EXPECT_LE(fake().operations, 4);
}

/// A rank that leaves in order has done its part; others may still be fetching it.
TEST_F(GpuOverlapTest, LeavingRightAfterTheLastOperationSpoilsNothing) {
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    EnginesInThreads(
        3,
        [&](Engine& engine, int rank) {
          float value = 1;
          const Status status = Sum(engine, rank, "last", &value);
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(value, 3);
        },
        Options());
  }
  EXPECT_EQ(fake().aborted, 0);
}

/// Operations in progress at the shutdown are finished, because all other ranks execute them.
TEST_F(GpuOverlapTest, ShutdownEndsWhatIsWithTheGpu) {
  std::vector<Promise> done(2);
  std::vector<std::unique_ptr<GpuArray>> arrays(2);
  EnginesInThreads(
      2,
      [&](Engine& engine, int rank) {
        const auto place = static_cast<size_t>(rank);
        arrays[place] = std::make_unique<GpuArray>(OpenDevice(rank), FloatBytes({0}));
        Issued issued;
        Tensor tensor = OnGpu("g", *arrays[place], 1, done[place]);
        const auto framework = Compute(rank, *arrays[place], 2);
        tensor.gpu = {.ready = framework->ready->handle(), .on_issued = issued.Callback()};
        ASSERT_TRUE(SubmitOne(engine, tensor).ok());
        ASSERT_NE(issued.Get(), nullptr);
        framework->computed.set_value();
        Drain(*framework->stream);
      },
      Options());
  for (Promise& one : done) EXPECT_TRUE(one.Get().ok());
  for (const auto& array : arrays) EXPECT_EQ(array->floats()[0], 4);
}

}  // namespace
}  // namespace tony::collective
