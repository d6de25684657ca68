// A container's life, told by a real executor to a real server: registrations, runs, restarts, and
// every kind of end.
#include "executor/executor.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>

#include "os/archives/archive_writer.h"
#include "tests/executor/executor_fixture.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::executor {
namespace {

namespace input = core::input;
using core::TaskExit;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::HasSubstr;

// Tells its own process and that of a child that ignores SIGTERM.
constexpr char kTree[] =
    "(trap '' TERM; while :; do sleep 1; done) & echo $! > $READY; echo $$ > $READY; wait";

class ExecutorTest : public ExecutorFixture {
 protected:
  // Takes the processes of kTree from the pipe.
  std::vector<pid_t> NextTree() {
    const pid_t child = ready_.NextPid();
    const pid_t program = ready_.NextPid();
    EXPECT_TRUE(os::IsAlive(child) && os::IsAlive(program));
    return {child, program};
  }
  static void ExpectGone(const std::vector<pid_t>& tree) {
    for (const pid_t pid : tree) EXPECT_FALSE(os::IsAlive(pid)) << pid;
  }
};

TEST_F(ExecutorTest, LivesThroughTwoEpochsToItsShutdown) {
  os::Put(folder_ / "source/main.sh", "[ $TONY_EPOCH = 2 ] || { " + std::string(kTree) +
                                          "; }; echo attempt $TONY_ATTEMPT on $TB_PORT; exit 0\n");
  ASSERT_TRUE(os::PackFolder(folder_ / "source", folder_ / "program").ok());
  v1::Assignment assignment = AssignmentOf("./main.sh");
  assignment.set_wants_visualization_port(true);
  assignment.add_archives()->set_kind(v1::Archive::PROGRAM);
  assignment.mutable_archives(0)->set_path(folder_ / "program");

  const auto first = Register(assignment);
  EXPECT_EQ(first.epoch, 1);
  EXPECT_NE(first.port, 0);
  EXPECT_NE(first.visualization_port, 0);
  EXPECT_TRUE(os::Exists(working_ + "/main.sh"));
  SendStart(1);
  const auto started = Next<input::TaskStarted>();
  EXPECT_EQ(started.epoch, 1);
  const std::vector<pid_t> tree = NextTree();
  EXPECT_EQ(started.pid, tree[1]);

  SendPrepare(2, 5);
  const auto ended = Next<input::TaskEnded>();
  EXPECT_EQ(ended.epoch, 1);
  EXPECT_FALSE(ended.exit.ok());
  const auto second = Next<input::ExecutorRegistered>();
  ExpectGone(tree);
  EXPECT_EQ(second.epoch, 2);
  EXPECT_NE(second.port, first.port);
  EXPECT_NE(second.visualization_port, first.visualization_port);

  SendStart(2);
  EXPECT_EQ(Next<input::TaskStarted>().epoch, 2);
  const auto last = Next<input::TaskEnded>();
  EXPECT_EQ(last.epoch, 2);
  EXPECT_TRUE(last.exit.ok());
  EXPECT_EQ(os::Contents(folder_ / "logs/attempt-5/stdout.log"),
            absl::StrCat("attempt 5 on ", second.visualization_port, "\n"));
  EXPECT_TRUE(os::Exists(folder_ / "logs/attempt-1/stdout.log"));

  SendShutdown();
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_EQ(service_.Send(container_, {}).code(), absl::StatusCode::kNotFound);
}

TEST_F(ExecutorTest, GivesTheProgramTheClusterSpec) {
  v1::Assignment assignment = AssignmentOf("echo \"$CLUSTER_SPEC\"; echo \"$MINE\"; pwd; exit 3");
  assignment.set_framework("tensorflow");
  (*assignment.mutable_environment())["MINE"] = "$HOME 'q'";
  const auto registered = Register(assignment);
  core::ClusterSpec spec;
  spec.endpoints = {{{"worker", 0}, "127.0.0.1", registered.port, "h", "", false}};
  SendStart(1, rpc::ToProto(spec).SerializeAsString());
  Next<input::TaskStarted>();
  const auto ended = Next<input::TaskEnded>();
  EXPECT_EQ(ended.exit.cause, TaskExit::Cause::kExited);
  EXPECT_EQ(ended.exit.code, 3);
  EXPECT_THAT(
      ended.exit.tail,
      ::testing::ElementsAre(absl::StrCat("{\"worker\":[\"127.0.0.1:", registered.port, "\"]}"),
                             "$HOME 'q'", std::filesystem::canonical(working_).string()));
}

TEST_F(ExecutorTest, EndsEverythingWhenTheStreamBreaks) {
  RunTask(AssignmentOf(kTree));
  const std::vector<pid_t> tree = NextTree();
  server_->Shutdown(Duration::zero());
  EXPECT_EQ(ExitCode(), 1);
  ExpectGone(tree);
}

TEST_F(ExecutorTest, EndsEverythingAtASignalAndSaysSo) {
  RunTask(AssignmentOf(kTree));
  const std::vector<pid_t> tree = NextTree();
  executor_->OnSignal(SIGTERM);
  EXPECT_EQ(ExitCode(), 1);
  ExpectGone(tree);
  const TaskExit exit = Next<input::TaskEnded>().exit;
  EXPECT_EQ(exit.cause, TaskExit::Cause::kLost);
  EXPECT_EQ(exit.message, "signal 15 told its executor to end");
}

TEST_F(ExecutorTest, EndsEverythingAtAShutdown) {
  RunTask(AssignmentOf(kTree));
  const std::vector<pid_t> tree = NextTree();
  SendShutdown();
  EXPECT_EQ(ExitCode(), 0);
  ExpectGone(tree);
}

TEST_F(ExecutorTest, LeavesWhenItsKeeperIsKilled) {
  RunTask(AssignmentOf(kTree));
  const std::vector<pid_t> tree = NextTree();
  ASSERT_EQ(::kill(keeper_->pid(), SIGKILL), 0);
  EXPECT_EQ(ExitCode(), 1);
  ExpectGone(tree);
  EXPECT_EQ(Next<input::TaskEnded>().exit.cause, TaskExit::Cause::kLost);
}

TEST_F(ExecutorTest, LeavesWhenItIsNotWanted) {
  StartExecutor();
  Next<input::ExecutorAttached>();
  SendShutdown();
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(ExecutorTest, LeavesWhenTheMasterDoesNotAnswer) {
  StartExecutor(milliseconds(50));
  EXPECT_EQ(ExitCode(), 1);
}

TEST_F(ExecutorTest, AnAnswerInTimeIsAnAnswer) {
  StartExecutor(milliseconds(3000));
  Next<input::ExecutorAttached>();
  SendAssignment(AssignmentOf("sleep 3.1; exit 6"));  // until after the deadline
  SendPrepare(1, 1);
  Next<input::ExecutorRegistered>();
  SendStart(1);
  Next<input::TaskStarted>();
  EXPECT_EQ(Next<input::TaskEnded>().exit.code, 6);
}

TEST_F(ExecutorTest, LeavesWhenThereIsNoMaster) {
  server_->Shutdown(Duration::zero());
  StartExecutor();
  EXPECT_EQ(ExitCode(), 1);
}

TEST_F(ExecutorTest, WhatCannotBeUnpackedIsAnEndWithoutAStart) {
  v1::Assignment assignment = AssignmentOf("exit 0");
  assignment.add_archives()->set_kind(v1::Archive::PROGRAM);
  assignment.mutable_archives(0)->set_path("/no/such/archive");
  StartExecutor();
  Next<input::ExecutorAttached>();
  SendAssignment(assignment);
  SendPrepare(1, 1);
  const auto ended = Next<input::TaskEnded>();
  EXPECT_EQ(ended.epoch, 1);
  EXPECT_EQ(ended.exit.cause, TaskExit::Cause::kNotStarted);
  EXPECT_THAT(ended.exit.message, HasSubstr("/no/such/archive"));
  // It does not get better in the next epoch, and is said again.
  SendPrepare(2, 2);
  EXPECT_EQ(Next<input::TaskEnded>().epoch, 2);
}

TEST_F(ExecutorTest, AStartOfAnotherEpochIsLeftOut) {
  Register(AssignmentOf("echo $TONY_EPOCH > $READY; exit 0"), 3);
  SendStart(2);
  SendStart(4);
  SendStart(3);
  EXPECT_EQ(Next<input::TaskStarted>().epoch, 3);
  EXPECT_EQ(ready_.NextLine(), "3");
  EXPECT_EQ(Next<input::TaskEnded>().epoch, 3);
}

TEST_F(ExecutorTest, AnUnreadableClusterSpecIsAnEndWithoutAStart) {
  Register(AssignmentOf("exit 0"));
  SendStart(1, "\xFF\xFF\xFF");
  const auto ended = Next<input::TaskEnded>();
  EXPECT_EQ(ended.exit.cause, TaskExit::Cause::kNotStarted);
  EXPECT_THAT(ended.exit.message, HasSubstr("cluster spec"));
}

TEST_F(ExecutorTest, ARunThatIsTooLongIsEnded) {
  v1::Assignment assignment = AssignmentOf("sleep 600");
  assignment.set_execution_timeout_ms(50);
  RunTask(assignment);
  EXPECT_EQ(Next<input::TaskEnded>().exit.cause, TaskExit::Cause::kTimedOut);
}

TEST_F(ExecutorTest, BeatsAndMeasuresWhatRuns) {
  v1::Assignment assignment = AssignmentOf("sleep 600 & sleep 600");
  assignment.set_metrics_interval_ms(100);
  RunTask(assignment);
  std::optional<core::TaskUsage> usage;
  int bare = 0;
  ASSERT_TRUE(driver_.Await([&] {
    while (const auto next = inputs_.TryNext()) {
      const auto* heartbeat = std::get_if<input::Heartbeat>(&*next);
      if (heartbeat == nullptr) continue;
      if (!heartbeat->usage) ++bare;
      // bash and its two children, once it has come so far.
      if (heartbeat->usage && heartbeat->usage->processes >= 3) usage = heartbeat->usage;
    }
    return usage.has_value() && bare > 0;
  }));
  EXPECT_GT(usage->memory_bytes, 100'000);
  EXPECT_GE(usage->max_memory_bytes, usage->memory_bytes);
  EXPECT_EQ(usage->gpu_utilization, -1);
  EXPECT_GE(usage->printed_bytes, 0);
}

TEST_F(ExecutorTest, ReleasesThePortRightBeforeTheStart) {
  v1::Assignment assignment = AssignmentOf("exit 0");
  assignment.set_release_ports(true);
  const auto port = static_cast<uint16_t>(Register(assignment).port);
  EXPECT_FALSE(os::BindSocket({}, port).valid());
  SendStart(1);
  Next<input::TaskStarted>();
  EXPECT_TRUE(os::BindSocket({}, port).valid());
}

// Listens on a port until the test ends, under a name that is no UTF-8.
class Stranger {
 public:
  explicit Stranger(int port) {
    os::LinePipe ready;
    pid_ = os::ForkChild([&] {
      ::prctl(PR_SET_NAME, "caf\xE9");
      const os::UniqueFd socket = os::ListenSocket({.reuse_address = true, .reuse_port = true},
                                                   static_cast<uint16_t>(port));
      ::dprintf(ready.write_fd(), "%s\n", socket.valid() ? "ready" : "failed");
      while (socket.valid()) ::pause();
    });
    EXPECT_EQ(ready.ReadLine(), "ready");
  }
  ~Stranger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  std::string Description() const {
    return absl::StrCat("pid ", pid_, " (caf\xEF\xBF\xBD) of user ", ::getuid());
  }

 private:
  pid_t pid_;
};

TEST_F(ExecutorTest, NamesTheStrangerBeforeTheFailureThatItCaused) {
  const auto registered = Register(AssignmentOf("exit 1"));
  const Stranger stranger(registered.port);
  SendStart(1);
  Next<input::TaskStarted>();
  const auto taken = Next<input::PortTaken>();
  EXPECT_EQ(taken.epoch, 1);
  EXPECT_EQ(taken.port, registered.port);
  EXPECT_EQ(taken.holder, stranger.Description());
  EXPECT_EQ(Next<input::TaskEnded>().exit.code, 1);
}

TEST_F(ExecutorTest, AStrangerOfTheOldEpochIsNotTheNewOnes) {
  const auto registered = Register(AssignmentOf(kTree));
  SendStart(1);
  Next<input::TaskStarted>();
  NextTree();
  const Stranger stranger(registered.port);
  SendPrepare(2, 2);
  EXPECT_EQ(Next<input::PortTaken>().epoch, 1);
  EXPECT_EQ(Next<input::TaskEnded>().epoch, 1);
  EXPECT_EQ(Next<input::ExecutorRegistered>().epoch, 2);
}

TEST_F(ExecutorTest, SaysOnEachStreamHowLongAgoItsProgramEnded) {
  address_file_ = folder_ / "address";
  os::Put(address_file_, server_->address());
  v1::Assignment assignment = AssignmentOf("exit 3");
  assignment.set_incarnation(1);
  assignment.set_reattach_ms(60'000);
  assignment.set_silence_ms(60'000);
  const SystemClock clock;
  const TimePoint begun = clock.Now();
  RunTask(assignment);
  const TaskExit told = Next<input::TaskEnded>().exit;
  const TimePoint heard = clock.Now();
  EXPECT_GE(told.ended_ago_millis, 0);
  EXPECT_LE(told.ended_ago_millis, (heard - begun) / milliseconds(1));
  EXPECT_EQ(told.ended_millis, 0) << "the ApplicationMaster gives the date";
  // The stream breaks, and another ApplicationMaster takes over.
  server_->Shutdown(Duration::zero());
  rpc::JobService jobs(kJobId, log_, tunnels_, {});
  CountingService next{kJobId, tunnels_, {[this](core::JobInput input) {
                         inputs_.Push(std::move(input));
                         driver_.Changed();
                       }}};
  Serve(jobs, next);
  const TimePoint served = clock.Now();
  os::Put(address_file_, server_->address());
  std::optional<input::HeldTask> held;
  ASSERT_TRUE(driver_.Await([&] {
    while (const auto said = inputs_.TryNext()) {
      const auto* attached = std::get_if<input::ExecutorAttached>(&*said);
      if (attached != nullptr) held = attached->held;
    }
    return held.has_value();
  }));
  EXPECT_EQ(held->phase, input::HeldTask::Phase::kEnded);
  EXPECT_EQ(held->exit.host_millis, told.host_millis);
  EXPECT_GE(held->exit.ended_ago_millis,
            told.ended_ago_millis + (served - heard) / milliseconds(1) - 1);
  EXPECT_LE(held->exit.ended_ago_millis, (clock.Now() - begun) / milliseconds(1));
  executor_.reset();
  server_->Shutdown(Duration::zero());
}

TEST_F(ExecutorTest, SaysWhenSomethingListensForVisualizationAndWhenNothingDoes) {
  if (!os::HasPython()) GTEST_SKIP() << "needs python3 for a program that listens";
  v1::Assignment assignment = AssignmentOf(
      "exec python3 -c 'import os, socket\n"
      "s = socket.create_server((\"127.0.0.1\", int(os.environ[\"TB_PORT\"])))\n"
      "while not os.path.exists(\"close\"): os.sched_yield()\n"
      "s.close()\n"
      "while not os.path.exists(\"go\"): os.sched_yield()'");
  assignment.set_wants_visualization_port(true);
  RunTask(assignment, 4);
  const auto begun = Next<input::VisualizationListener>();
  EXPECT_EQ(begun.epoch, 4);
  EXPECT_EQ(begun.attempt, 4);
  EXPECT_TRUE(begun.listens);
  os::Put(working_ + "/close", "");
  EXPECT_FALSE(Next<input::VisualizationListener>().listens);
  os::Put(working_ + "/go", "");
  EXPECT_TRUE(Next<input::TaskEnded>().exit.ok());
}

TEST_F(ExecutorTest, TheProgramsOwnListenerIsNoStranger) {
  if (!os::HasPython()) GTEST_SKIP() << "needs python3 for a program that listens";
  v1::Assignment assignment = AssignmentOf(
      "exec python3 -c 'import os, socket\n"
      "s = socket.socket(socket.AF_INET6); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, "
      "1)\n"
      "s.bind((\"::\", int(os.environ[\"TB_PORT\"]))); s.listen()\n"
      "open(os.environ[\"READY\"], \"w\").write(\"listening\\n\")\n"
      "while not os.path.exists(\"go\"): os.sched_yield()\n"
      "os._exit(1)'");
  assignment.set_wants_visualization_port(true);
  assignment.set_metrics_interval_ms(100);
  RunTask(assignment);
  ASSERT_EQ(ready_.NextLine(), "listening");
  EXPECT_TRUE(Next<input::VisualizationListener>().listens);
  // One measurement with it, and the look after the end: neither names anybody.
  ASSERT_TRUE(driver_.Await([&] {
    while (const auto next = inputs_.TryNext()) {
      const auto* heartbeat = std::get_if<input::Heartbeat>(&*next);
      if (heartbeat != nullptr && heartbeat->usage) return true;
    }
    return false;
  }));
  os::Put(working_ + "/go", "");
  // A look between the end of the program and its report sees that nobody listens any more.
  std::optional<core::JobInput> last;
  ASSERT_TRUE(driver_.Await([&] {
    while (std::optional<core::JobInput> next = inputs_.TryNext()) {
      EXPECT_FALSE(std::holds_alternative<input::PortTaken>(*next));
      last = std::move(next);
      if (std::holds_alternative<input::TaskEnded>(*last)) return true;
    }
    return false;
  }));
  EXPECT_EQ(std::get<input::TaskEnded>(*last).exit.code, 1);
}

}  // namespace
}  // namespace tony::executor
