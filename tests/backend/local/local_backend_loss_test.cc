// Tests lost processes in the local backend: of jobs, of their containers, and of their
// ApplicationMasters.
#include "backend/local/local_backend.h"

#include <signal.h>
#include <unistd.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/local/local_backend_job.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Without another process, and still known by its command line.
constexpr char kWaitForEver[] = "read line < wait";

// An ApplicationMaster that has done `what` and is killed.
void KillMasterAfter(const LocalBackendOptions& options, const std::function<void(Job&)>& what) {
  Signpost running;
  ForkedChild master([&] {
    LoopThread loop;
    Job job(loop, options);
    what(job);
    running.Reach();
    ::pause();
    return 0;
  });
  ASSERT_EQ(running.Await(), '.');
  master.Kill(SIGKILL);
  master.Wait();
}

TEST_F(LocalBackendTest, ASecondJobStartsWhenTheFirstsProcessesAreKilled) {
  Signpost running;
  ForkedChild master([&] {
    LoopThread loop;
    Job first(loop, Options(TestJobId(1), SmallMachine(100, 0)));
    first.Request({Workers(1, 60)});
    const std::string id = first.events.WaitGranted(1).at(0).id;
    first.RunAndAwait(id, "exec sleep 1000");
    running.Reach();
    ::pause();
    return 0;
  });
  ASSERT_EQ(running.Await(), '.');
  const storage::JobFolder folder(storage::JobsFolder(folder_.path()) + "/" + TestJobId(1));
  const pid_t executor =
      std::stoi(os::Contents(folder.container(TestJobId(1) + "-c0001") + "/pid"));

  LoopThread loop;
  Job second(loop, Options(TestJobId(2), SmallMachine(100, 0)));
  second.Request({Workers(1, 60)});
  ASSERT_THAT(second.events.WaitWaiting(), HasSubstr(TestJobId(1)));
  master.Kill(SIGKILL);
  master.Wait();
  EXPECT_EQ(Claims().size(), 2u);  // the executor still uses what the first job holds
  EXPECT_EQ(second.events.granted_count(), 0u);
  const auto killed = std::chrono::steady_clock::now();
  ::kill(executor, SIGKILL);
  EXPECT_EQ(second.events.WaitGranted(1).size(), 1u);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - killed;
  RecordProperty("milliseconds_to_start", static_cast<int>(took.count()));
}

TEST_F(LocalBackendTest, AnotherApplicationMasterTakesOver) {
  // Executors are known among all processes by it.
  const std::string job_id = TestJobId(static_cast<uint32_t>(::getpid()));
  const core::Capacity machine = SmallMachine(100, 2);
  ASSERT_NO_FATAL_FAILURE(KillMasterAfter(Options(job_id, machine), [](Job& first) {
    first.Request({Workers(2, 20, 1), Workers(1, 20)});
    const auto granted = first.events.WaitGranted(3);
    for (int i : {0, 2}) {
      first.RunAndAwait(granted.at(static_cast<size_t>(i)).id, kWaitForEver);
    }
  }));

  std::vector<core::Container> containers;
  for (const int number : {1, 2, 3}) {
    core::Container& container = containers.emplace_back();
    container.id = absl::StrCat(job_id, "-c000", number);
    container.type = "worker";
    container.resources = Workers(1, 20, number < 3 ? 1 : 0).resources;
    if (number < 3) container.gpus = {number - 1};
  }
  LoopThread loop;
  Job second(loop, Options(job_id, machine));
  second.Reclaim(containers);
  // The one that was never launched is not there; the others are, and can be ended.
  EXPECT_TRUE(second.events.WaitEnded(containers[1].id).lost);
  EXPECT_EQ(second.events.ended_count(), 1u);
  second.Kill(containers[2].id);
  EXPECT_TRUE(second.events.WaitEnded(containers[2].id).lost);
  // The job's own resources are used again, with new container numbers.
  second.Request({Workers(1, 20, 1)});
  const core::Container next = second.events.WaitGranted(1).at(0);
  EXPECT_EQ(next.id, job_id + "-c0004");
  EXPECT_THAT(next.gpus, ElementsAre(1));
  EXPECT_EQ(Claims().at(0).held.size(), 3u);
  second.End();
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(LocalBackendTest, ALostContainerIsReplacedFromWhatTheJobHolds) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(100, 2);
  Job job(loop, Options(TestJobId(1), machine));
  job.Request({Workers(2, 40, 1)});
  const std::vector<core::Container> granted = job.events.WaitGranted(2);
  ASSERT_EQ(granted.size(), 2u);
  Job next(loop, Options(TestJobId(2), machine));
  next.Request({Workers(1, 40, 1)});
  ASSERT_NE(next.events.WaitWaiting(), "");
  job.Run(granted[0].id, "exec sleep 1000");
  job.Run(granted[1].id, "exit 1");
  job.events.WaitEnded(granted[1].id);
  job.Request({Workers(1, 40, 1)});
  const std::vector<core::Container> again = job.events.WaitGranted(3);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[2].id, TestJobId(1) + "-c0003");
  EXPECT_EQ(again[2].gpus, granted[1].gpus);
  EXPECT_EQ(next.events.granted_count(), 0u);
}

TEST_F(LocalBackendTest, OneThatIsGoneTakesNothingFromWhoHasItsPlace) {
  const std::string job_id = TestJobId((1u << 24) + static_cast<uint32_t>(::getpid()));
  const core::Capacity machine = SmallMachine(100, 0);
  ASSERT_NO_FATAL_FAILURE(KillMasterAfter(Options(job_id, machine), [](Job& first) {
    first.Request({Workers(1, 60)});
    const std::string gone = first.events.WaitGranted(1).at(0).id;
    first.Run(gone, "exit 0");
    first.events.WaitEnded(gone);
    first.Request({Workers(1, 60)});
    first.RunAndAwait(first.events.WaitGranted(2).at(1).id, kWaitForEver);
  }));

  std::vector<core::Container> containers(2);
  for (int i : {0, 1}) {
    core::Container& container = containers[static_cast<size_t>(i)];
    container.id = absl::StrCat(job_id, "-c000", i + 1);
    container.resources = Workers(1, 60).resources;
  }
  LoopThread loop;
  Job second(loop, Options(job_id, machine));
  second.Reclaim(containers);
  EXPECT_TRUE(second.events.WaitEnded(containers[0].id).lost);
  EXPECT_EQ(second.events.ended_count(), 1u);
  second.Request({Workers(1, 60)});  // there is one place, and it is taken
  EXPECT_THAT(second.events.WaitRefused(), HasSubstr("besides the 60 that it holds"));
  second.End();
}

}  // namespace
}  // namespace tony::backend
