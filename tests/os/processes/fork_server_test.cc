// Forks of a real program: how they find themselves, whose children they are, and a server that is
// gone.
#include "os/processes/fork_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "os/files/proc_file.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ForkServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ForkServer::Start(FORK_TARGET, "somebody");
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }

  // Runs until life_.CloseWriteEnd().
  SubprocessRequest Request(std::vector<std::string> arguments) const {
    return {.arguments = std::move(arguments),
            .environment = std::vector<std::string>{"A=1", "B=x=y"},
            .working_folder = "/usr",
            .stdout_fd = output_.write_fd(),
            .stderr_fd = errors_.write_fd(),
            .inherited_fds = {life_.read_fd()}};
  }
  std::vector<std::string> LinesUntilReady() {
    std::vector<std::string> lines;
    while (const auto line = output_.ReadLine()) {
      if (*line == "ready") return lines;
      lines.push_back(*line);
    }
    ADD_FAILURE() << "the fork did not get ready";
    return lines;
  }
  int WaitForCode(Subprocess& fork) {
    EXPECT_TRUE(WaitReadable(fork.pidfd()));
    const auto status = fork.TryWait();
    return status ? status->code : -1;
  }

  LinePipe output_, errors_, life_;
  std::unique_ptr<ForkServer> server_;
};

TEST_F(ForkServerTest, AForkIsLikeAProcessStartedByTheOwner) {
  auto fork = server_->Fork(Request({"shown", "7", "a b"}));
  ASSERT_TRUE(fork.ok()) << fork.status();
  const std::vector<std::string> lines = LinesUntilReady();
  EXPECT_THAT(lines,
              ElementsAre("argument shown", "argument 7", "argument a b", "variable A=1",
                          "variable B=x=y", "folder /usr", "parent " + std::to_string(::getpid()),
                          "leads its session 1", "first thread 1", "thread"));
  EXPECT_EQ(errors_.ReadLine(), "error");
  life_.CloseWriteEnd();
  EXPECT_EQ(WaitForCode(*fork), 7);
}

TEST_F(ForkServerTest, ForksAreIndependentOfEachOtherAndOfTheServer) {
  auto first = server_->Fork(Request({"x", "1"}));
  LinesUntilReady();
  auto second = server_->Fork(Request({"x", "2"}));
  LinesUntilReady();
  ASSERT_TRUE(first.ok() && second.ok());
  const pid_t server = server_->pid();
  server_.reset();
  EXPECT_TRUE(WaitGone(server));
  first->Signal(SIGKILL);
  EXPECT_TRUE(WaitReadable(first->pidfd()));
  EXPECT_EQ(first->TryWait()->signal, SIGKILL);
  EXPECT_FALSE(second->TryWait().has_value());
  life_.CloseWriteEnd();
  EXPECT_EQ(WaitForCode(*second), 2);
}

TEST_F(ForkServerTest, OnlyTheRequestedDescriptorsAreOpen) {
  auto fork = server_->Fork(Request({"x", "0"}));
  ASSERT_TRUE(fork.ok());
  LinesUntilReady();
  for (int fd = 0; fd < 4; ++fd) {
    EXPECT_EQ(
        ::access(("/proc/" + std::to_string(fork->pid()) + "/fd/" + std::to_string(fd)).c_str(),
                 F_OK),
        0)
        << fd;
  }
  EXPECT_NE(::access(("/proc/" + std::to_string(fork->pid()) + "/fd/4").c_str(), F_OK), 0);
  life_.CloseWriteEnd();
}

TEST_F(ForkServerTest, InheritedDescriptorsAreThreeAndOn) {
  const std::vector<std::string> files = {"/dev/zero", "/dev/full", "/dev/random"};
  std::vector<UniqueFd> opened;
  SubprocessRequest request = Request({"x", "0"});
  for (const std::string& file : files) {
    opened.emplace_back(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    request.inherited_fds.push_back(opened.back().get());
  }
  auto fork = server_->Fork(request);
  ASSERT_TRUE(fork.ok()) << fork.status();
  LinesUntilReady();
  for (size_t i = 0; i < files.size(); ++i) {
    char target[64] = {};
    const std::string link =
        "/proc/" + std::to_string(fork->pid()) + "/fd/" + std::to_string(4 + i);
    EXPECT_GT(::readlink(link.c_str(), target, sizeof target - 1), 0) << link;
    EXPECT_EQ(target, files[i]);
  }
  life_.CloseWriteEnd();
  EXPECT_EQ(WaitForCode(*fork), 0);
}

TEST_F(ForkServerTest, PsShowsTheArguments) {
  auto fork = server_->Fork(Request({"/bin/shown", "0", "--flag=value"}));
  ASSERT_TRUE(fork.ok());
  LinesUntilReady();
  EXPECT_THAT(ReadProcFile("/proc/" + std::to_string(server_->pid()) + "/cmdline"),
              HasSubstr("somebody"));
  const std::string shown = ReadProcFile("/proc/" + std::to_string(fork->pid()) + "/cmdline");
  EXPECT_THAT(shown, StartsWith("/bin/shown 0 --flag=value"));
  EXPECT_THAT(shown, Not(HasSubstr("somebody")));
  life_.CloseWriteEnd();
}

TEST_F(ForkServerTest, TakesALargeEnvironment) {
  SubprocessRequest request = Request({"x", "0"});
  request.environment = {"LARGE=" + std::string(1 << 20, 'x')};
  auto fork = server_->Fork(request);
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_THAT(LinesUntilReady(), Contains("variable " + request.environment->front()));
  life_.CloseWriteEnd();
}

TEST_F(ForkServerTest, SaysWhatIsWrongWithARequest) {
  SubprocessRequest request = Request({"program", "0"});
  request.working_folder = "/no/such/folder";
  const absl::Status no_folder = server_->Fork(request).status();
  EXPECT_TRUE(absl::IsNotFound(no_folder)) << no_folder;
  EXPECT_THAT(std::string(no_folder.message()),
              AllOf(HasSubstr("program"), HasSubstr("/no/such/folder")));
  request = Request({"program", "0"});
  request.environment.reset();
  EXPECT_TRUE(absl::IsInvalidArgument(server_->Fork(request).status()));
  request = Request({"program", "0"});
  request.stdout_fd = 9999;
  EXPECT_TRUE(absl::IsInvalidArgument(server_->Fork(request).status()));
  request = Request({"program", "0"});
  request.inherited_fds.assign(100, life_.read_fd());
  EXPECT_TRUE(absl::IsInvalidArgument(server_->Fork(request).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(server_->Fork(Request({})).status()));
  auto fork = server_->Fork(Request({"program", "5"}));  // it goes on all the same
  ASSERT_TRUE(fork.ok()) << fork.status();
  life_.CloseWriteEnd();
  EXPECT_EQ(WaitForCode(*fork), 5);
}

TEST_F(ForkServerTest, AServerThatWasKilledIsUnavailable) {
  auto fork = server_->Fork(Request({"x", "3"}));
  ASSERT_TRUE(fork.ok());
  ::kill(server_->pid(), SIGKILL);
  ASSERT_TRUE(WaitGone(server_->pid()));
  EXPECT_TRUE(absl::IsUnavailable(server_->Fork(Request({"x", "4"})).status()));
  life_.CloseWriteEnd();
  EXPECT_EQ(WaitForCode(*fork), 3);
}

TEST_F(ForkServerTest, AServerThatDiesBeforeItSeesTheRequestIsUnavailable) {
  ::kill(server_->pid(), SIGSTOP);
  // Before or after the request is on its way: it is the same.
  std::thread killer([pid = server_->pid()] { ::kill(pid, SIGKILL); });
  EXPECT_TRUE(absl::IsUnavailable(server_->Fork(Request({"x", "4"})).status()));
  killer.join();
}

TEST(ForkServerProgramTest, AProgramThatIsNoForkServerIsUnavailable) {
  auto server = ForkServer::Start("/bin/true", "somebody");
  ASSERT_TRUE(server.ok());
  ASSERT_TRUE(WaitGone((*server)->pid()));
  SubprocessRequest request{.arguments = {"x"}, .environment = std::vector<std::string>()};
  EXPECT_TRUE(absl::IsUnavailable((*server)->Fork(request).status()));
  EXPECT_TRUE(absl::IsNotFound(ForkServer::Start("/no/such/program", "somebody").status()));
}

}  // namespace
}  // namespace tony::os
