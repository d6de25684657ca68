// Jobs that share a machine through the local backend, with real processes.
#include "backend/local/local_backend.h"

#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/files.h"
#include "os/processes/process_tree.h"
#include "os/processes/reap_orphans.h"
#include "tests/backend/local/local_backend_job.h"

namespace tony::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(LocalBackendTest, GrantsContainersWithIdsAndGpus) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 3)));
  job.Request({Workers(2, 10, 1), {.type = "ps", .count = 1, .resources = {.memory_mb = 10}}});
  const std::vector<core::Container> granted = job.events.WaitGranted(3);
  ASSERT_EQ(granted.size(), 3u);
  EXPECT_EQ(granted[0], (core::Container{.id = TestJobId(1) + "-c0001",
                                         .type = "worker",
                                         .host = "127.0.0.1",
                                         .host_id = "this-boot",
                                         .gpus = {0},
                                         .resources = Workers(2, 10, 1).resources}));
  EXPECT_EQ(granted[1].id, TestJobId(1) + "-c0002");
  EXPECT_THAT(granted[1].gpus, ElementsAre(1));
  EXPECT_EQ(granted[2].type, "ps");
  EXPECT_THAT(granted[2].gpus, ElementsAre());
}

TEST_F(LocalBackendTest, RunsTheExecutorInItsFolderWithItsLogEnvironmentAndClaim) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(1, 10)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  job.Run(id, "pwd; echo $BASE $BOTH $OWN >&2; readlink /proc/self/fd/3; ls /proc/self/fd | wc -l",
          {"BOTH=own", "OWN=own"});
  EXPECT_EQ(job.events.WaitEnded(id).sentence, "tony-executor exited with code 0");
  const std::string claim = storage::LedgerFolder(folder_.path()) + "/" + TestJobId(1) + ".lock";
  EXPECT_EQ(os::Contents(job.LogOf(id)),
            job.FolderOf(id) + "\nbase own own\n" + claim + "\n5\n");  // 0 to 3 and ls's own
  EXPECT_EQ(os::ModeOf(job.LogOf(id)), 0600u);
  EXPECT_EQ(os::ModeOf(job.FolderOf(id)), 0700u);
}

TEST_F(LocalBackendTest, StartsOneExecutorAtATimeAndHearsWhatComesInBetween) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(3, 10)});
  std::vector<std::string> ids;
  for (const core::Container& container : job.events.WaitGranted(3)) ids.push_back(container.id);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_THAT(job.RunAllAndLook(ids), ElementsAre(ids[0]));
  for (const std::string& id : ids) {
    EXPECT_EQ(job.events.WaitEnded(id).sentence, "tony-executor exited with code 0");
  }
}

TEST_F(LocalBackendTest, TellsHowExecutorsEnd) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(3, 10)});
  const std::vector<core::Container> granted = job.events.WaitGranted(3);
  ASSERT_EQ(granted.size(), 3u);
  job.Run(granted[0].id, "exit 3");
  job.Run(granted[1].id, "kill -9 $$");
  job.Run(granted[2].id, "exec sleep 1000");
  const core::ContainerEnd exited = job.events.WaitEnded(granted[0].id);
  EXPECT_EQ(exited.sentence, "tony-executor exited with code 3");
  EXPECT_FALSE(exited.lost);
  const core::ContainerEnd signaled = job.events.WaitEnded(granted[1].id);
  EXPECT_THAT(signaled.sentence, HasSubstr("killed by signal 9"));
  EXPECT_TRUE(signaled.lost);
  EXPECT_EQ(job.events.ended_count(), 2u);
  job.Kill(granted[2].id);
  EXPECT_THAT(job.events.WaitEnded(granted[2].id).sentence, HasSubstr("killed by signal 9"));
}

TEST_F(LocalBackendTest, WhatAKilledExecutorLeavesIsEndedByItsDescent) {
  os::BecomeSubreaper();
  const ForkedChild other([] { return ::pause(); });
  LoopThread loop;
  LocalBackendOptions options = Options(TestJobId(1), SmallMachine(100, 0));
  options.other_children = [&other] { return std::set<pid_t>{other.pid()}; };
  Job job(loop, options);
  job.Request({Workers(2, 10)});
  const std::vector<core::Container> granted = job.events.WaitGranted(2);
  job.Run(granted.at(0).id, "exec sleep 1000");
  // Without the container's id, in a session of its own.
  job.Run(granted.at(1).id, "env -i setsid sh -c 'setsid sleep 1000 & echo $!'; kill -9 $$");
  EXPECT_TRUE(job.events.WaitEnded(granted[1].id).lost);
  const pid_t daemon = std::stoi(os::Contents(job.LogOf(granted[1].id)));
  EXPECT_EQ(::kill(daemon, 0), -1) << "it is not even a zombie";
  EXPECT_EQ(::kill(other.pid(), 0), 0);
  EXPECT_EQ(job.events.ended_count(), 1u);
}

TEST_F(LocalBackendTest, WhatAnExecutorLeavesThatHadBegunToStartIsEnded) {
  LoopThread loop;
  const std::string job_id = TestJobId(static_cast<uint32_t>(::getpid()));
  LocalBackendOptions options = Options(job_id, SmallMachine(100, 0));
  options.start_executor = [](const os::SubprocessRequest& request) {
    EXPECT_TRUE(os::Subprocess::Start(request).ok());
    return absl::ResourceExhaustedError("no descriptor to watch it by");
  };
  Job job(loop, options);
  job.Request({Workers(1, 10)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  job.Run(id, "sleep 1000; :", {std::string(os::kContainerIdVariable) + "=" + id});
  EXPECT_EQ(job.events.WaitEnded(id).sentence, "no descriptor to watch it by");
  EXPECT_THAT(os::ProcessesOfContainer(id), ElementsAre());
}

TEST_F(LocalBackendTest, AProgramThatCannotStartEndsItsContainer) {
  LoopThread loop;
  LocalBackendOptions options = Options(TestJobId(1), SmallMachine(100, 0));
  options.executor_path = "/nonexistent/tony-executor";
  Job job(loop, options);
  job.Request({Workers(1, 100)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  job.Run(id, "");
  EXPECT_THAT(job.events.WaitEnded(id).sentence, HasSubstr("/nonexistent/tony-executor"));
  job.Request({Workers(1, 100)});  // the slot is free again
  EXPECT_EQ(job.events.WaitGranted(2).size(), 2u);
}

TEST_F(LocalBackendTest, AnExecutorsSecretIsForItsOwnerAlone) {
  LoopThread loop;
  const LocalBackendOptions options = Options(TestJobId(1), SmallMachine(100, 0));
  Job job(loop, options);
  job.Request({Workers(1, 10)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  // The shell's parameters: the container's id is its name.
  job.Run(id, "cat \"${1#--credentials=}\"; stat -c %a \"${1#--credentials=}\"", {}, "secret\n");
  EXPECT_FALSE(job.events.WaitEnded(id).lost);
  EXPECT_EQ(os::Contents(options.job_folder.logs() + "/task-of-" + id + "/executor.log"),
            "secret\n600\n");
}

TEST_F(LocalBackendTest, WithoutAPlaceForItsSecretAnExecutorIsNotStarted) {
  LoopThread loop;
  const LocalBackendOptions options = Options(TestJobId(1), SmallMachine(100, 0));
  ASSERT_TRUE(os::MakeFolders(options.job_folder.root()).ok());
  os::Put(options.job_folder.secrets(), "no folder");
  Job job(loop, options);
  job.Request({Workers(1, 10)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  job.Run(id, "true");
  EXPECT_THAT(job.events.WaitEnded(id).sentence, HasSubstr(options.job_folder.secrets()));
}

TEST_F(LocalBackendTest, ASecondJobWaitsAndStartsWhenTheFirstEnds) {
  LoopThread loop;
  Job first(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  Job second(loop, Options(TestJobId(2), SmallMachine(100, 0)));
  first.Request({Workers(1, 60)});
  ASSERT_EQ(first.events.WaitGranted(1).size(), 1u);
  second.Request({Workers(1, 60)});
  EXPECT_THAT(second.events.WaitWaiting(),
              AllOf(StartsWith("needs 60 MiB of memory, 40 of 100 are free; job " + TestJobId(1) +
                               " (pid "),
                    HasSubstr("holds 60 | the end of job " + TestJobId(1))));
  EXPECT_EQ(second.events.granted_count(), 0u);
  first.Run(first.events.WaitGranted(1)[0].id, "exec sleep 1000");
  first.End();
  EXPECT_EQ(second.events.WaitGranted(1).size(), 1u);
}

TEST_F(LocalBackendTest, JobsStartInTheOrderInWhichTheyAsked) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(100, 0);
  Job running(loop, Options(TestJobId(11), machine));
  running.Request({Workers(1, 50)});
  ASSERT_EQ(running.events.WaitGranted(1).size(), 1u);
  Job large(loop, Options(TestJobId(12), machine));
  large.Request({Workers(1, 100)});
  ASSERT_THAT(large.events.WaitWaiting(), HasSubstr("needs 100"));
  Job small(loop, Options(TestJobId(10), machine));
  small.Request({Workers(1, 10)});
  EXPECT_THAT(small.events.WaitWaiting(),
              AllOf(HasSubstr("job " + TestJobId(12)), HasSubstr("asked earlier and is ahead")));
  running.End();
  EXPECT_EQ(large.events.WaitGranted(1).size(), 1u);
  EXPECT_THAT(small.events.WaitWaiting(2),
              HasSubstr("job " + TestJobId(12)));  // the reason has changed
  EXPECT_EQ(small.events.granted_count(), 0u);
  large.End();
  EXPECT_EQ(small.events.WaitGranted(1).size(), 1u);
}

TEST_F(LocalBackendTest, WhoLeavesTheQueueLetsOthersPass) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(100, 0);
  Job running(loop, Options(TestJobId(1), machine));
  running.Request({Workers(1, 50)});
  ASSERT_EQ(running.events.WaitGranted(1).size(), 1u);
  Job large(loop, Options(TestJobId(2), machine));
  large.Request({Workers(1, 100)});
  ASSERT_NE(large.events.WaitWaiting(), "");
  Job small(loop, Options(TestJobId(3), machine));
  small.Request({Workers(1, 10)});
  ASSERT_NE(small.events.WaitWaiting(), "");
  large.Cancel();
  EXPECT_EQ(small.events.WaitGranted(1).size(), 1u);
  running.End();
  small.End();
  EXPECT_EQ(large.events.granted_count(), 0u);
}

TEST_F(LocalBackendTest, GpusAreExclusive) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(1000, 4);
  Job first(loop, Options(TestJobId(1), machine));
  Job second(loop, Options(TestJobId(2), machine));
  Job third(loop, Options(TestJobId(3), machine));
  first.Request({Workers(1, 1, 2)});
  ASSERT_EQ(first.events.WaitGranted(1).size(), 1u);
  second.Request({Workers(1, 1, 1)});
  ASSERT_EQ(second.events.WaitGranted(1).size(), 1u);
  third.Request({Workers(2, 1, 1)});
  EXPECT_THAT(third.events.WaitWaiting(), AllOf(HasSubstr("needs 2 GPUs, 1 of 4 is free"),
                                                HasSubstr("holds 2"), HasSubstr("holds 1")));
  EXPECT_THAT(first.events.WaitGranted(1)[0].gpus, ElementsAre(0, 1));
  EXPECT_THAT(second.events.WaitGranted(1)[0].gpus, ElementsAre(2));
  second.End();
  const std::vector<core::Container> granted = third.events.WaitGranted(2);
  ASSERT_EQ(granted.size(), 2u);
  EXPECT_THAT(granted[0].gpus, ElementsAre(2));
  EXPECT_THAT(granted[1].gpus, ElementsAre(3));
}

TEST_F(LocalBackendTest, WhatCanNeverFitIsRefusedAtOnceAndLeavesTheQueue) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(100, 0);
  Job huge(loop, Options(TestJobId(1), machine));
  huge.Request({Workers(3, 50)});
  EXPECT_THAT(huge.events.WaitRefused(),
              AllOf(StartsWith("never: the job needs 150 MiB"), HasSubstr("box has 100 MiB")));
  Job other(loop, Options(TestJobId(2), machine));
  other.Request({Workers(1, 100)});
  EXPECT_EQ(other.events.WaitGranted(1).size(), 1u);
}

TEST_F(LocalBackendTest, ALedgerThatCannotBeUsedRefusesTheRequest) {
  os::Put(storage::LedgerFolder(folder_.path()), "no folder");
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(1, 10)});
  EXPECT_THAT(job.events.WaitRefused(), AllOf(StartsWith("failed: "), HasSubstr("ledger")));
}

TEST_F(LocalBackendTest, WhatEndedContainersLeftIsGivenBackBeyondWhatIsAskedFor) {
  LoopThread loop;
  const core::Capacity machine = SmallMachine(100, 0);
  Job job(loop, Options(TestJobId(1), machine));
  job.Request({Workers(3, 25), Workers(1, 10)});
  const std::vector<core::Container> granted = job.events.WaitGranted(4);
  ASSERT_EQ(granted.size(), 4u);
  Job next(loop, Options(TestJobId(2), machine));
  next.Request({Workers(1, 50)});
  ASSERT_NE(next.events.WaitWaiting(), "");
  job.Run(granted[3].id, "exec sleep 1000");
  for (size_t i : {0u, 1u, 2u}) {
    job.Run(granted[i].id, "exit 0");
    job.events.WaitEnded(granted[i].id);
  }
  EXPECT_EQ(next.events.granted_count(), 0u);
  // One of the three is used again, the other two go.
  job.Request({Workers(1, 25)});
  job.GiveBackSpare();
  EXPECT_EQ(job.events.WaitGranted(5).size(), 5u);
  EXPECT_EQ(next.events.WaitGranted(1).size(), 1u);
  // The slots of what goes on are found all the same.
  job.Kill(granted[3].id);
  job.events.WaitEnded(granted[3].id);
  job.Request({Workers(1, 10)});
  EXPECT_EQ(job.events.WaitGranted(6).size(), 6u);
  next.End();
  job.End();
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(LocalBackendTest, AGrantedContainerThatNeverRanIsGivenBackSilently) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(1, 100)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  job.Request({Workers(1, 100)});  // beyond the machine together with what it holds
  EXPECT_THAT(job.events.WaitRefused(), HasSubstr("besides the 100 that it holds"));
  job.Kill(id);
  job.Kill(TestJobId(1) + "-c0099");
  job.Request({Workers(1, 100)});
  EXPECT_EQ(job.events.WaitGranted(2).size(), 2u);
  EXPECT_EQ(job.events.ended_count(), 0u);
}

TEST_F(LocalBackendTest, AKillThatOvertakesTheLaunchIsReported) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(2, 50)});
  std::vector<std::string> ids;
  for (const core::Container& container : job.events.WaitGranted(2)) ids.push_back(container.id);
  ASSERT_EQ(ids.size(), 2u);
  job.RunAndKill(ids);
  for (const std::string& id : ids) {
    EXPECT_EQ(job.events.WaitEnded(id).sentence, "killed before its tony-executor was started");
    EXPECT_FALSE(os::Exists(job.FolderOf(id)));
  }
  // The share of both is free again.
  job.Request({Workers(2, 50)});
  EXPECT_EQ(job.events.WaitGranted(4).size(), 4u);
}

TEST_F(LocalBackendTest, ItsEndKillsEveryExecutorAndFreesTheMachine) {
  LoopThread loop;
  Job job(loop, Options(TestJobId(1), SmallMachine(100, 0)));
  job.Request({Workers(2, 10)});
  std::vector<pid_t> executors;
  for (const core::Container& container : job.events.WaitGranted(2)) {
    executors.push_back(job.RunAndAwait(container.id, "trap '' TERM; exec sleep 1000"));
  }
  EXPECT_EQ(Claims().size(), 1u);
  job.End();
  ASSERT_EQ(executors.size(), 2u);
  for (const pid_t executor : executors) EXPECT_EQ(::kill(executor, 0), -1) << executor;
  EXPECT_EQ(Claims().size(), 0u);
}

}  // namespace
}  // namespace tony::backend
