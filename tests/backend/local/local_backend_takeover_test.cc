// Tests which processes an ApplicationMaster accepts as the executors of an earlier one: none that
// only looks like one.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "backend/local/executor_finder.h"
#include "backend/local/local_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/wait_readable.h"
#include "os/processes/process_handle.h"
#include "tests/backend/local/job_ids.h"
#include "tests/backend/local/local_backend_job.h"

namespace tony::backend {
namespace {

using ::testing::HasSubstr;

// A user whom no account belongs to.
constexpr uid_t kStranger = 54322;

// Without another process, and still known by its command line.
constexpr char kWaitForEver[] = "read line < wait";

// A process with an executor's command line that was there before the executor, so that its number
// is lower; it lives as long as this object. Not thread safe.
class Decoy {
 public:
  Decoy(const std::string& program, const std::string& container_id, uid_t user)
      : process_([&] {
          const std::string argument = "--container-id=" + container_id;
          if (user != ::getuid() && (::setgid(user) != 0 || ::setuid(user) != 0)) return 1;
          ready_.BecomeOutput();
          ::execl(program.c_str(), "sh", "-c", "echo; kill -STOP $$", argument.c_str(), nullptr);
          return 1;
        }) {
    EXPECT_EQ(ready_.Await(), '\n');
  }
  pid_t pid() const { return process_.pid(); }
  bool lives() const { return ::kill(process_.pid(), 0) == 0 && IdentityOf(pid()) == identity(); }
  core::ExecutorProcess identity() const { return identity_; }

 private:
  Signpost ready_;
  ForkedChild process_;
  const core::ExecutorProcess identity_ = IdentityOf(process_.pid()).value();
};

class TakeoverTest : public LocalBackendTest {
 protected:
  // Starts an executor under an ApplicationMaster that is killed; returns its process number.
  pid_t StartAndLoseMaster() {
    Signpost running;
    ForkedChild master([&] {
      LoopThread loop;
      Job job(loop, Options(job_id_, machine_));
      job.Request({Workers(1, 20)});
      job.RunAndAwait(job.events.WaitGranted(1).at(0).id, kWaitForEver);
      running.Reach();
      ::pause();
      return 0;
    });
    EXPECT_EQ(running.Await(), '.');
    master.Kill(SIGKILL);
    master.Wait();
    const storage::JobFolder folder(storage::JobsFolder(folder_.path()) + "/" + job_id_);
    return std::stoi(os::Contents(folder.container(container_id_) + "/pid"));
  }
  core::Container Container(const core::ExecutorProcess& noted) const {
    core::Container container;
    container.id = container_id_;
    container.type = "worker";
    container.resources = Workers(1, 20).resources;
    container.executor = noted;
    return container;
  }
  // The next ApplicationMaster watches `executor`, and ends it when it kills the container.
  void ExpectTakenOver(const core::ExecutorProcess& noted, pid_t executor) {
    const auto process = os::ProcessHandle::Open(executor);
    ASSERT_TRUE(process.ok()) << process.status();
    LoopThread loop;
    Job second(loop, Options(job_id_, machine_));
    second.Reclaim({Container(noted)});
    if (noted.pid == 0) {
      EXPECT_EQ(second.events.WaitStarted(container_id_), IdentityOf(executor));
    }
    EXPECT_EQ(second.events.ended_count(), 0u);
    second.Kill(container_id_);
    EXPECT_TRUE(os::WaitReadable(process->pidfd(), kPatience)) << "the executor lives on";
    EXPECT_EQ(second.events.WaitEnded(container_id_).sentence, "tony-executor has ended");
    second.End();
  }

  // Executors are known among all processes by it.
  const std::string job_id_ = TestJobId(static_cast<uint32_t>(::getpid()));
  const std::string container_id_ = job_id_ + "-c0001";
  const core::Capacity machine_ = SmallMachine(100, 0);
};

TEST_F(TakeoverTest, TheBackendSaysWhichProcessAnExecutorIs) {
  LoopThread loop;
  Job job(loop, Options(job_id_, machine_));
  job.Request({Workers(1, 20)});
  const std::string id = job.events.WaitGranted(1).at(0).id;
  const pid_t executor = job.RunAndAwait(id, kWaitForEver);
  EXPECT_EQ(job.events.WaitStarted(id), IdentityOf(executor));
}

TEST_F(TakeoverTest, AStrangersProcessIsNoExecutor) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const Decoy decoy("/bin/sh", container_id_, kStranger);
  const pid_t executor = StartAndLoseMaster();
  ASSERT_LT(decoy.pid(), executor) << "the numbers have started again from the beginning";
  ExpectTakenOver({}, executor);
  EXPECT_TRUE(decoy.lives());
}

TEST_F(TakeoverTest, AnotherProgramOfTheUsersIsNoExecutor) {
  const Decoy decoy("/bin/bash", container_id_, ::getuid());
  const pid_t executor = StartAndLoseMaster();
  ASSERT_LT(decoy.pid(), executor) << "the numbers have started again from the beginning";
  ExpectTakenOver({}, executor);
  EXPECT_TRUE(decoy.lives());
}

TEST_F(TakeoverTest, TheProcessThatWasNotedIsTheExecutor) {
  // It looks like one in every respect.
  const Decoy decoy("/bin/sh", container_id_, ::getuid());
  const pid_t executor = StartAndLoseMaster();
  ExpectTakenOver(IdentityOf(executor).value(), executor);
  EXPECT_TRUE(decoy.lives());
}

TEST_F(TakeoverTest, ANumberThatWasGivenAgainIsNoExecutor) {
  const Decoy decoy("/bin/sh", container_id_, ::getuid());
  core::ExecutorProcess earlier = decoy.identity();
  --earlier.start_ticks;
  LoopThread loop;
  Job second(loop, Options(job_id_, machine_));
  second.Reclaim({Container(earlier)});
  EXPECT_THAT(second.events.WaitEnded(container_id_).sentence, HasSubstr("is gone"));
  EXPECT_TRUE(decoy.lives());
}

TEST_F(TakeoverTest, AStrangersProcessWithTheNotedNumberIsNoExecutor) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  const Decoy decoy("/bin/sh", container_id_, kStranger);
  LoopThread loop;
  Job second(loop, Options(job_id_, machine_));
  second.Reclaim({Container(decoy.identity())});
  EXPECT_THAT(second.events.WaitEnded(container_id_).sentence, HasSubstr("is gone"));
  EXPECT_TRUE(decoy.lives());
}

}  // namespace
}  // namespace tony::backend
