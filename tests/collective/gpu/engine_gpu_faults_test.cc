// Tests that all ranks get the same error in time when one of them cannot use its GPU, or does not
// come.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/collective/gpu/engine_rig.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A time-out that tests let expire; long enough for a loaded machine to do its work before.
constexpr auto kShort = milliseconds(2000);

class GpuEngineFaultsTest : public GpuEngineTest {
 protected:
  /// Each rank has its own options.
  void EnginesWith(const std::vector<Engine::Options>& options,
                   const std::function<void(Engine&, int rank)>& body) {
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok());
    const auto ranks = static_cast<int>(options.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Engine engine(MeetAtAcceptor(**acceptor, rank, ranks), options[static_cast<size_t>(rank)]);
        body(engine, rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<Engine::Options> OptionsOf(int ranks) {
    return std::vector<Engine::Options>(static_cast<size_t>(ranks), Options());
  }

  /// All ranks are told this of an operation on GPUs, each time, and the hosts' go on.
  void ExpectRefused(const std::vector<Engine::Options>& options, Code code,
                     const ::testing::Matcher<const std::string&>& sentence,
                     const std::vector<std::string>& names = {"a", "b"}) {
    const auto ranks = static_cast<int>(options.size());
    EnginesWith(options, [&](Engine& engine, int rank) {
      for (const std::string& name : names) {
        float value = 1;
        const Status refused = Sum(engine, rank, name, &value);
        EXPECT_EQ(refused.code(), code);
        EXPECT_THAT(refused.message(), sentence);
        ExpectHostWorks(engine, "host" + name, ranks);
      }
      MeetAgain(engine);
    });
    EXPECT_EQ(fake().operations, 0);
  }
};

TEST_F(GpuEngineFaultsTest, ARankWithoutNccl) {
  auto options = OptionsOf(3);
  options[1].gpu.nccl_library = "/nonexistent/libnccl.so.2";
  ExpectRefused(options, Code::kFailedPrecondition,
                AllOf(StartsWith("no operation on GPUs, since rank 1 cannot take part: GPUs cannot "
                                 "be reduced on, there is no NCCL: "),
                      HasSubstr("TONY_NCCL_LIBRARY")));
}

TEST_F(GpuEngineFaultsTest, ARankWithoutDriver) {
  auto options = OptionsOf(2);
  options[1].gpu.cuda_library = "/nonexistent/libcuda.so.1";
  ExpectRefused(options, Code::kInvalidArgument,
                AllOf(HasSubstr("': rank 1: GPUs cannot be used, there is no NVIDIA driver"),
                      StartsWith("tensor '")));
}

TEST_F(GpuEngineFaultsTest, NcclIsTooOld) {
  fake().nccl_version = 21300;
  ExpectRefused(OptionsOf(2), Code::kFailedPrecondition,
                AllOf(StartsWith("no operation on GPUs, since rank 0 cannot"),
                      HasSubstr("is NCCL 2.13.0, but at least 2.14.0 is needed")));
}

TEST_F(GpuEngineFaultsTest, TheFirstRankCannotListen) {
  fake().unique_id_result = kNcclSystemError;
  ExpectRefused(OptionsOf(2), Code::kFailedPrecondition,
                HasSubstr("since rank 0 cannot take part: NCCL cannot listen"));
}

TEST_F(GpuEngineFaultsTest, NcclRefusesToMeet) {
  fake().init_fails_at = 1;
  auto options = OptionsOf(2);
  // The other one waits for it in NCCL until then.
  for (Engine::Options& one : options) one.patience = kShort;
  ExpectRefused(options, Code::kFailedPrecondition,
                AnyOf(HasSubstr("rank 0 cannot take part: the meeting of 2 ranks on GPUs was not "
                                "done after "),
                      HasSubstr("rank 1 cannot take part: NCCL cannot do the meeting")),
                {"a"});
}

TEST_F(GpuEngineFaultsTest, ARankThatDoesNotComeToTheMeeting) {
  fake().init_hangs_at = 1;
  auto options = OptionsOf(3);
  for (Engine::Options& one : options) one.patience = kShort;
  ExpectRefused(options, Code::kFailedPrecondition,
                HasSubstr("the meeting of 3 ranks on GPUs was not done after "), {"a"});
}

TEST_F(GpuEngineFaultsTest, AJoinedRankDoesNotSayWhichGpu) {
  for (const int devices : {4, 1}) {
    fake().devices = devices;
    EnginesWith(OptionsOf(2), [&](Engine& engine, int rank) {
      std::promise<Status> joined;
      const auto join = [&] {
        ASSERT_TRUE(
            engine.Join([&](const Status& status, int /*last*/) { joined.set_value(status); })
                .ok());
      };
      if (rank == 1) join();
      if (rank == 0) {
        float value = 1;
        const Status status = Sum(engine, rank, "a", &value);
        EXPECT_EQ(status.ok(), devices == 1);
        EXPECT_THAT(
            status.message(),
            HasSubstr(devices == 1
                          ? ""
                          : "rank 1 cannot take part: it has submitted nothing that lies on a GPU "
                            "so far, and sees 4 of them: say which one it uses, in join(device"));
        join();
      }
      auto all = joined.get_future();
      ASSERT_EQ(all.wait_for(kPatience), std::future_status::ready);
      EXPECT_TRUE(all.get().ok());
      MeetAgain(engine);
    });
  }
}

TEST_F(GpuEngineFaultsTest, TensorsThatCannotBe) {
  EnginesWith(OptionsOf(2), [&](Engine& engine, int rank) {
    float value = 1;
    EXPECT_TRUE(Sum(engine, rank, "first", &value).ok());
    const GpuArray array(OpenDevice(rank), FloatBytes({1}));
    const GpuArray other(OpenDevice(3), FloatBytes({1}));
    const auto told = [&](const std::string& name, const std::function<void(Tensor&)>& change) {
      Promise done;
      Tensor tensor = OnGpu(name, array, 1, done);
      change(tensor);
      const Status submitted = SubmitOne(engine, std::move(tensor));
      EXPECT_TRUE(submitted.ok()) << submitted.message();
      const Status status = done.Get();
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      ExpectHostWorks(engine, "host" + name, 2);
      return status.message();
    };
    float host = 1;
    EXPECT_EQ(told("mixed",
                   [&](Tensor& tensor) {
                     if (rank == 0) return;
                     tensor.request.kind.device = DeviceType::kCpu;
                     tensor.in = tensor.out = &host;
                   }),
              "tensor 'mixed': rank 0 submits float32[1] of a GPU, rank 1 float32[1] of the CPU");
    EXPECT_THAT(told("nowhere",
                     [&](Tensor& tensor) {
                       if (rank == 1) tensor.in = tensor.out = &host;
                     }),
                HasSubstr("tensor 'nowhere': rank 1: it is submitted as a GPU's, but its memory is "
                          "of no GPU that the driver knows"));
    EXPECT_EQ(told("two",
                   [&](Tensor& tensor) {
                     if (rank == 1) tensor.in = tensor.out = other.data();
                   }),
              "tensor 'two': rank 1: it lies on GPU 3, and what this rank has submitted before on "
              "GPU 1: a rank reduces on one GPU");
    EXPECT_THAT(told("int16", [](Tensor& tensor) { tensor.request.kind.type = DataType::kInt16; }),
                HasSubstr("NCCL cannot reduce int16"));
    EXPECT_THAT(
        told("adasum", [](Tensor& tensor) { tensor.request.kind.reduce = ReduceOp::kAdasum; }),
        HasSubstr("Adasum is not computed on GPUs"));
    value = 1;
    EXPECT_TRUE(Sum(engine, rank, "good", &value).ok());
    EXPECT_EQ(value, 2);
    MeetAgain(engine);
  });
}

/// One rank's driver takes no kernel: all ranks refuse what needs it, and do the rest.
TEST_F(GpuEngineFaultsTest, ARankWithoutKernel) {
  auto options = OptionsOf(2);
  options[1].nccl.ptx = "";
  EnginesWith(options, [&](Engine& engine, int rank) {
    float value = 1;
    EXPECT_TRUE(Sum(engine, rank, "sum", &value).ok());
    EXPECT_EQ(value, 2);
    const GpuArray array(OpenDevice(rank), FloatBytes({1}));
    Promise done;
    Tensor tensor = OnGpu("scaled", array, 1, done);
    tensor.request.kind.postscale = 0.5;
    ASSERT_TRUE(SubmitOne(engine, tensor).ok());
    const Status refused = done.Get();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("values on GPUs cannot be multiplied"));
    EXPECT_TRUE(Sum(engine, rank, "again", &value).ok());
    EXPECT_EQ(value, 4);
    MeetAgain(engine);
  });
}

TEST_F(GpuEngineFaultsTest, NoMemoryForTheFusionBuffer) {
  EnginesWith(OptionsOf(2), [&](Engine& engine, int rank) {
    const GpuArray array(OpenDevice(rank), FloatBytes({1}));
    MeetAgain(engine);
    fake().memory = 0;
    Promise done;
    ASSERT_TRUE(SubmitOne(engine, OnGpu("a", array, 1, done)).ok());
    const Status refused = done.Get();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("rank 0 cannot take part: cannot allocate "));
    ExpectHostWorks(engine, "host", 2);
    MeetAgain(engine);
  });
}

/// All others would wait for it in NCCL.
TEST_F(GpuEngineFaultsTest, NoMemoryForAResult) {
  EnginesWith(OptionsOf(2), [&](Engine& engine, int rank) {
    const GpuArray array(OpenDevice(rank), Bytes(1 << 20));
    float value = 1;
    ASSERT_TRUE(Sum(engine, rank, "first", &value).ok());
    MeetAgain(engine);
    fake().memory = 5 << 20;  // less than both results need, besides what there is
    Promise done;
    Tensor tensor = OnGpu("big", array, 1 << 18, done);
    tensor.request.kind.operation = Operation::kAllGather;
    tensor.out = nullptr;
    tensor.on_done = nullptr;
    tensor.on_output = done.OutputCallback();
    ASSERT_TRUE(SubmitOne(engine, tensor).ok());
    const Status failed = done.Get();
    EXPECT_THAT(failed.code(), AnyOf(Code::kResourceExhausted, Code::kAborted));
    EXPECT_THAT(failed.message(), HasSubstr("cannot allocate 2097152 bytes on GPU "));
    ExpectEnded(engine, failed);
  });
}

/// One rank's network breaks during an operation; the other ones hear of it from that rank.
TEST_F(GpuEngineFaultsTest, AnAsynchronousError) {
  EnginesWith(OptionsOf(3), [&](Engine& engine, int rank) {
    float value = 1;
    ASSERT_TRUE(Sum(engine, rank, "good", &value).ok());
    MeetAgain(engine);
    fake().async_fails_at = 1;
    const Status failed = Sum(engine, rank, "bad", &value);
    EXPECT_EQ(failed.code(), Code::kAborted);
    EXPECT_THAT(failed.message(), HasSubstr("the operation on 'bad': NCCL has given up the "
                                            "allreduce of 1 float32: remote process exited"));
    EXPECT_THAT(failed.message(), HasSubstr("NCCL_DEBUG=INFO"));
    ExpectEnded(engine, failed);
  });
  EXPECT_EQ(fake().aborted, 3);
}

TEST_F(GpuEngineFaultsTest, ARankThatHangs) {
  auto options = OptionsOf(2);
  for (Engine::Options& one : options) one.patience = kShort;
  EnginesWith(options, [&](Engine& engine, int rank) {
    float value = 1;
    ASSERT_TRUE(Sum(engine, rank, "good", &value).ok());
    MeetAgain(engine);
    fake().call_hangs_at = 1;
    const Status late = Sum(engine, rank, "bad", &value);
    EXPECT_THAT(late.code(), AnyOf(Code::kDeadlineExceeded, Code::kAborted));
    EXPECT_THAT(late.message(), HasSubstr(" on GPUs was not done after "));
    ExpectEnded(engine, late);
  });
}

/// The framework never comes to the event, which NCCL cannot know.
TEST_F(GpuEngineFaultsTest, AnEventThatDoesNotFire) {
  auto options = OptionsOf(1);
  options[0].patience = kShort;
  EnginesWith(options, [&](Engine& engine, int rank) {
    const GpuArray array(OpenDevice(rank), FloatBytes({1}));
    const auto framework = NewStream(OpenDevice(rank));
    auto ready = Event::Create(OpenDevice(rank));
    std::promise<void> computed;
    OnStream(framework->handle(), [&] { computed.get_future().wait(); });
    ASSERT_TRUE(framework->Record(**ready).ok());
    Promise done;
    Tensor tensor = OnGpu("late", array, 1, done);
    tensor.gpu.ready = (*ready)->handle();
    ASSERT_TRUE(SubmitOne(engine, tensor).ok());
    const Status late = done.Get();
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(late.message(), StartsWith("the operation on 'late' on GPUs was not done after "));
    ExpectEnded(engine, late);
    computed.set_value();
    Drain(*framework);
  });
}

#if !defined(__SANITIZE_THREAD__)  // which follows no child that has threads
/// A process, whose connections end with it while all others wait for it in NCCL.
TEST_F(GpuEngineFaultsTest, AKilledRank) {
  auto acceptor = HostAcceptor::Open();
  ASSERT_TRUE(acceptor.ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // NCCL's fake does not know these processes, so no rank comes to the meeting, as if it were
    // slow.
    Engine engine(MeetAtAcceptor(**acceptor, 1, 2), Options());
    float value = 1;
    (void)Sum(engine, 1, "g", &value);
    _exit(1);
  }
  {
    Engine engine(MeetAtAcceptor(**acceptor, 0, 2), Options());
    float value = 1;
    std::thread killer([&] {
      EXPECT_TRUE(Eventually([&] { return fake().communicators != 0; }));
      kill(child, SIGKILL);
    });
    const Status failed = Sum(engine, 0, "g", &value);
    killer.join();
    EXPECT_EQ(failed.code(), Code::kAborted);
    EXPECT_THAT(failed.message(), HasSubstr("has ended"));
    EXPECT_EQ(fake().aborted, 1);
    ExpectEnded(engine, failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
}
#endif

}  // namespace
}  // namespace tony::collective
