// Fifty jobs at once on one machine's ledger, a part of them killed while they hold something.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "backend/local/local_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/local/backend_support.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kJobs = 20;  // slow as they are, fifty would not all have their turn in time
#else
constexpr int kJobs = 50;
#endif
constexpr int kRounds = 2;
constexpr int kGpus = 3;
constexpr int kKilledEach = 7;  // every so many jobs, one dies by SIGKILL

// Marks each GPU of a container for as long as it is held; 0, or an exit code that says what was
// wrong. The markers are locks, so that a killed job leaves none.
class GpuMarks {
 public:
  explicit GpuMarks(const std::string& folder) : folder_(folder) {}
  bool Set(const std::vector<int>& gpus) {
    for (int gpu : gpus) {
      marks_.emplace_back(::open((folder_ + "/gpu" + std::to_string(gpu)).c_str(),
                                 O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      struct flock whole {
        .l_type = F_WRLCK, .l_whence = SEEK_SET
      };
      if (::fcntl(marks_.back().get(), F_SETLK, &whole) != 0) return false;
    }
    return true;
  }
  void Clear() { marks_.clear(); }

 private:
  std::string folder_;
  std::vector<os::UniqueFd> marks_;
};

// Runs one job after the other; 0 when each was granted GPUs that nobody else had.
int RunJobs(const std::string& root, int number) {
  LoopThread thread;
  GpuMarks marks(root);
  for (int round = 0; round < kRounds; ++round) {
    LocalBackendOptions options;
    options.job_id = TestJobId(static_cast<uint32_t>(number * kRounds + round));
    options.ledger.folder = storage::LedgerFolder(root);
    options.capacity = SmallMachine(1000, kGpus);
    RecordingListener events;
    auto backend =
        thread.Run([&] { return std::make_unique<LocalBackend>(thread.loop(), options, events); });
    // Whatever happens it ends where it lives, on the loop.
    const absl::Cleanup end = [&] { thread.Run([&] { backend.reset(); }); };
    const int gpus = 1 + (number + round) % 2;
    thread.Run([&] { backend->Request({Workers(1, 1, gpus)}); });
    const std::vector<core::Container> granted = events.WaitGranted(1);
    if (granted.size() != 1) return 2;
    if (granted[0].gpus.size() != static_cast<size_t>(gpus)) return 3;
    if (!marks.Set(granted[0].gpus)) return 4;
    if (number % kKilledEach == 0 && round + 1 == kRounds) ::kill(::getpid(), SIGKILL);
    marks.Clear();
  }
  return 0;
}

TEST(LedgerStressTest, ManyJobsAtOnceNeverShareAGpuAndAllGetTheirTurn) {
  const os::TemporaryFolder folder;
  std::vector<std::unique_ptr<ForkedChild>> jobs;
  for (int number = 0; number < kJobs; ++number) {
    jobs.push_back(std::make_unique<ForkedChild>([&] { return RunJobs(folder.path(), number); }));
  }
  for (int number = 0; number < kJobs; ++number) {
    const int status = jobs[static_cast<size_t>(number)]->Wait();
    if (number % kKilledEach == 0) {
      EXPECT_TRUE(WIFSIGNALED(status)) << number << " ended with " << WEXITSTATUS(status);
    } else {
      EXPECT_TRUE(WIFEXITED(status)) << number;
      EXPECT_EQ(WEXITSTATUS(status), 0) << number;
    }
  }
  const Ledger ledger = Ledger::Open({.folder = storage::LedgerFolder(folder.path())}).value();
  EXPECT_TRUE(ledger.Claims().value().empty());
}

}  // namespace
}  // namespace tony::backend
