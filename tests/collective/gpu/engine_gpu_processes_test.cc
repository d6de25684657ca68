// Ranks as processes that are in NCCL together, when one of them is killed, or the network breaks.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "tests/collective/base/process_entries.h"
#include "tests/collective/gpu/engine_rig.h"
#include "tests/collective/gpu/fake/fake_processes.h"
#include "tests/common/eventually.h"

#if !defined(__SANITIZE_THREAD__)  // which follows no child that has threads
namespace tony::collective {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;

class GpuProcessesTest : public GpuEngineTest {
 protected:
  GpuProcessesTest()
      : shared_(*new (mmap(nullptr, sizeof(FakeProcesses), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) FakeProcesses()) {
    fake().processes = &shared_;
  }
  ~GpuProcessesTest() override {
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
      if (processes_[rank] == 0) continue;  // it has ended
      Kill(static_cast<int>(rank));
      waitpid(processes_[rank], nullptr, 0);
    }
    fake().processes = nullptr;
    munmap(&shared_, sizeof(FakeProcesses));
  }

  /// Each rank in a process of its own; at the end of `body` nothing of it may be left there.
  void Fork(const std::function<void(Engine&, int rank)>& body) {
    processes_.clear();
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok());
    for (int rank = 0; rank < kRanks; ++rank) {
      processes_.push_back(fork());
      ASSERT_GE(processes_.back(), 0);
      if (processes_.back() != 0) continue;
      const auto before = ProcessEntries();
      {
        Engine engine(MeetAtAcceptor(**acceptor, rank, kRanks), Options());
        body(engine, rank);
      }
      ExpectProcessEntries(before);
      ExpectNothingLeft();
      _exit(HasFailure() ? 1 : 0);
    }
  }
  /// Until all ranks are in the operation that `at` does not do its part of, and ask NCCL how it
  /// goes.
  void AllInside(int at) {
    ASSERT_TRUE(Eventually([&] { return shared_.inside == kRanks; }));
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank != at) {
        ASSERT_TRUE(Eventually([&] { return shared_.parts[rank].written == 2; }));
      }
      const uint64_t asked = shared_.asked[rank];
      // NCCL's errors are asked for again and again.
      ASSERT_TRUE(Eventually([&] { return shared_.asked[rank] > asked + 2; }));
    }
    EXPECT_EQ(shared_.parts[at].written, 1U);
  }
  /// The exit status of a rank's process, or the signal that has ended it, below 0.
  int StatusOf(int rank) {
    int status = -1;
    pid_t& process = processes_[static_cast<size_t>(rank)];
    const bool ended = Eventually([&] { return waitpid(process, &status, WNOHANG) == process; });
    EXPECT_TRUE(ended);
    if (!ended) return -1;
    process = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  void Kill(int rank) { kill(processes_[static_cast<size_t>(rank)], SIGKILL); }

  /// In a rank: a sum that all do, and one of which `at` does not do its part.
  Status HangingSum(Engine& engine, int rank) {
    float value = 1;
    const Status good = Sum(engine, rank, "good", &value);
    EXPECT_TRUE(good.ok()) << good.message();
    EXPECT_EQ(value, kRanks);
    return Sum(engine, rank, "bad", &value);
  }

  FakeProcesses& shared_;

 private:
  std::vector<pid_t> processes_;
};

/// NCCL itself would wait for it for ever, or have seen only that a connection is gone.
TEST_F(GpuProcessesTest, ARankKilledInsideAnOperation) {
  for (const bool nccl_sees_it_first : {false, true}) {
    for (int victim = 0; victim < kRanks; ++victim) {
      SCOPED_TRACE("victim " + std::to_string(victim));
      new (&shared_) FakeProcesses();
      shared_.hangs_at = victim;
      shared_.hangs_from = 1;
      Fork([&](Engine& engine, int rank) {
        float host = 1;
        Promise waiting;
        // The victim never submits this tensor.
        if (rank != victim) {
          ASSERT_TRUE(
              engine.AllReduce(Floats("waiting", 1), &host, &host, waiting.Callback()).ok());
        }
        const std::string ended = "rank " + std::to_string(victim) + " has ended";
        const Status failed = HangingSum(engine, rank);
        EXPECT_EQ(failed.code(), Code::kAborted);
        EXPECT_THAT(failed.message(), HasSubstr(ended));
        EXPECT_THAT(failed.message(), HasSubstr("the operation on 'bad' on GPUs was given up"));
        EXPECT_EQ(fake().aborted, 1);
        EXPECT_THAT(waiting.Get().message(), HasSubstr(ended));
        for (const char* name : {"next", "another"}) {
          // Refused as it is submitted, by the host and for the GPU.
          EXPECT_THAT(HostSum(engine, name, &host).message(), HasSubstr(ended));
          EXPECT_THAT(Sum(engine, rank, name, &host).message(), HasSubstr(ended));
        }
      });
      AllInside(victim);
      for (int rank = 0; rank < kRanks; ++rank) {
        shared_.broken[rank] = nccl_sees_it_first && rank != victim;
      }
      Kill(victim);
      for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(StatusOf(rank), rank == victim ? -SIGKILL : 0) << "rank " << rank;
      }
    }
  }
}

/// No rank has ended. NCCL is polled all the while, and the rank that gets its error tells all
/// others.
TEST_F(GpuProcessesTest, AnAsynchronousErrorInsideAnOperation) {
  for (int broken = 0; broken < kRanks; ++broken) {
    SCOPED_TRACE("at rank " + std::to_string(broken));
    new (&shared_) FakeProcesses();
    shared_.hangs_at = (broken + 1) % kRanks;
    shared_.hangs_from = 1;
    Fork([&](Engine& engine, int rank) {
      const Status failed = HangingSum(engine, rank);
      EXPECT_EQ(failed.code(), Code::kAborted);
      EXPECT_THAT(failed.message(),
                  HasSubstr("NCCL has given up the operation on 'bad': remote process exited"));
      EXPECT_EQ(fake().aborted, 1);
      ExpectEnded(engine, failed);
    });
    AllInside(shared_.hangs_at);
    shared_.broken[broken] = true;
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(StatusOf(rank), 0) << "rank " << rank;
  }
}

}  // namespace
}  // namespace tony::collective
#endif
