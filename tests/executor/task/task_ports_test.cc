// A task's reserved ports, and who is named when somebody listens on them.
#include "executor/task/task_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr os::ServerOptions kReusing{.reuse_address = true, .reuse_port = true};

// A child of the test that listens on a port until it is killed. Not thread safe.
class ListeningChild {
 public:
  explicit ListeningChild(int port, bool without_main_thread = false) {
    os::LinePipe ready;
    pid_ = os::ForkChild([&] {
      ::prctl(PR_SET_NAME, "listener");
      const os::UniqueFd socket = os::ListenSocket(kReusing, static_cast<uint16_t>(port));
      ::dprintf(ready.write_fd(), "%s\n", socket.valid() ? "ready" : "failed");
      if (without_main_thread) {
        std::thread([] { ::pause(); }).detach();
        ::syscall(SYS_exit, 0);
      }
      while (socket.valid()) ::pause();
    });
    EXPECT_EQ(ready.ReadLine(), "ready");
  }
  ~ListeningChild() { End(); }
  ListeningChild(const ListeningChild&) = delete;
  ListeningChild& operator=(const ListeningChild&) = delete;

  pid_t pid() const { return pid_; }
  void End() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

std::vector<pid_t> Nobody() { return {}; }

bool IsFree(int port) { return os::BindSocket({}, static_cast<uint16_t>(port)).valid(); }

TEST(TaskPortsTest, HoldsNothingBeforeItIsAskedTo) {
  const TaskPorts ports;
  EXPECT_EQ(ports.task_port(), 0);
  EXPECT_EQ(ports.visualization_port(), 0);
  EXPECT_THAT(ports.Strangers(true, Nobody), IsEmpty());
}

TEST(TaskPortsTest, ReservesOneOrTwo) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(false).ok());
  EXPECT_NE(ports.task_port(), 0);
  EXPECT_EQ(ports.visualization_port(), 0);
  ASSERT_TRUE(ports.Reserve(true).ok());
  EXPECT_NE(ports.visualization_port(), 0);
  EXPECT_NE(ports.visualization_port(), ports.task_port());
  EXPECT_FALSE(IsFree(ports.task_port()));
  EXPECT_FALSE(IsFree(ports.visualization_port()));
}

TEST(TaskPortsTest, ANewEpochGetsOtherPortsAndGivesUpTheOld) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(true).ok());
  const int old_task = ports.task_port();
  const int old_page = ports.visualization_port();
  ASSERT_TRUE(ports.Reserve(false).ok());
  EXPECT_NE(ports.task_port(), old_task);
  EXPECT_NE(ports.task_port(), old_page);
  EXPECT_EQ(ports.visualization_port(), 0);
  EXPECT_TRUE(IsFree(old_task));
  EXPECT_TRUE(IsFree(old_page));
}

TEST(TaskPortsTest, ReleasesTheSocketsAndKeepsTheNumbers) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(true).ok());
  const int task = ports.task_port();
  const int page = ports.visualization_port();
  ports.ReleaseSockets();
  EXPECT_TRUE(IsFree(task));
  EXPECT_TRUE(IsFree(page));
  EXPECT_EQ(ports.task_port(), task);
  EXPECT_EQ(ports.visualization_port(), page);
}

TEST(TaskPortsTest, VisualizationListensAtItsOwnPortOnly) {
  TaskPorts ports;
  EXPECT_FALSE(ports.VisualizationListens());
  ASSERT_TRUE(ports.Reserve(true).ok());
  const ListeningChild one(ports.task_port());
  EXPECT_FALSE(ports.VisualizationListens());
  ListeningChild two(ports.visualization_port());
  EXPECT_TRUE(ports.VisualizationListens());
  two.End();
  EXPECT_FALSE(ports.VisualizationListens());
}

TEST(TaskPortsTest, NamesAStrangerOnEachPort) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(true).ok());
  const ListeningChild one(ports.task_port()), two(ports.visualization_port());
  const std::vector<Stranger> strangers = ports.Strangers(true, Nobody);
  ASSERT_THAT(strangers, SizeIs(2));
  for (const Stranger& stranger : strangers) {
    const pid_t pid = stranger.port == ports.task_port() ? one.pid() : two.pid();
    EXPECT_EQ(stranger.description, absl::StrCat("pid ", pid, " (listener) of user ", ::getuid()));
  }
}

TEST(TaskPortsTest, DoesNotNameTheTasksOwn) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(false).ok());
  const ListeningChild own(ports.task_port()), stranger(ports.task_port());
  const std::vector<Stranger> strangers = ports.Strangers(true, [&] {
    return std::vector<pid_t>{1, own.pid()};
  });
  ASSERT_THAT(strangers, SizeIs(1));
  EXPECT_THAT(strangers[0].description, HasSubstr(absl::StrCat("pid ", stranger.pid(), " ")));
  EXPECT_THAT(ports.Strangers(true,
                              [&] {
                                return std::vector<pid_t>{own.pid(), stranger.pid()};
                              }),
              IsEmpty());
}

TEST(TaskPortsTest, DoesNotNameOneThatEndsWhileItLooks) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(false).ok());
  ListeningChild own(ports.task_port());
  int asked = 0;
  const auto strangers = ports.Strangers(true, [&]() -> std::vector<pid_t> {
    ++asked;
    own.End();
    return {};
  });
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(strangers, IsEmpty());
}

// The child's main thread has ended, and another one holds the socket: so is each program with
// threads for a moment when it ends, and for a longer one on a busy machine.
TEST(TaskPortsTest, DoesNotNameAProgramThatIsEnding) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(false).ok());
  const ListeningChild ending(ports.task_port(), /*without_main_thread=*/true);
  ASSERT_TRUE(os::WaitForState(ending.pid(), 'Z'));
  EXPECT_THAT(ports.Strangers(true, Nobody), IsEmpty());
  // After the program's end it is somebody else.
  EXPECT_THAT(ports.Strangers(false, Nobody), SizeIs(1));
}

TEST(TaskPortsTest, AsksNobodyWhileNobodyListens) {
  TaskPorts ports;
  ASSERT_TRUE(ports.Reserve(true).ok());
  int asked = 0;
  EXPECT_THAT(ports.Strangers(true,
                              [&]() -> std::vector<pid_t> {
                                ++asked;
                                return {};
                              }),
              IsEmpty());
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace tony::executor
