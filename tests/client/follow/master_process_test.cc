// Starting the real tony-am: ready, ended at once, or too late.
#include "client/follow/master_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>

#include "client/jobs/job_connection.h"
#include "os/files/file_lock.h"
#include "os/files/wait_readable.h"
#include "os/processes/process_handle.h"
#include "tests/client/staged_job.h"
#include "tests/common/eventually.h"

namespace tony::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kPatience{30};

class MasterProcessTest : public StagedJobTest {
 protected:
  absl::StatusOr<MasterProcess> Start(Duration deadline = kPatience) {
    return MasterProcess::Start(job_folder_,
                                {.detached = true, .guard_fd = guard_.get(), .deadline = deadline});
  }
  static bool AwaitEnd(const MasterProcess& master) {
    pollfd watched{.fd = master.pidfd(), .events = POLLIN};
    return ::poll(&watched, 1, 30'000) == 1;
  }
  // Neither running nor a zombie.
  static bool HasNoChildren() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }
};

TEST_F(MasterProcessTest, IsReadyOnceItCanBeReached) {
  ASSERT_EQ(Stage({{"tony.worker.command", "sleep 600"}}), absl::OkStatus());
  auto master = Start();
  ASSERT_TRUE(master.ok()) << master.status();
  EXPECT_FALSE(master->ended());
  EXPECT_TRUE(os::IsFileLocked(job_folder_.am_lock()));
  const auto client = ConnectToJob(job_folder_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Stop("enough", kPatience), absl::OkStatus());
  ASSERT_TRUE(AwaitEnd(*master));
  EXPECT_TRUE(master->ended());
  EXPECT_EQ(os::ModeOf(job_folder_.logs() + "/am.log"), 0600u);
}

TEST_F(MasterProcessTest, ADetachedOneHoldsTheGuard) {
  ASSERT_EQ(Stage({{"tony.worker.command", "sleep 600"}}), absl::OkStatus());
  auto master = Start();
  ASSERT_TRUE(master.ok()) << master.status();
  guard_.Reset();
  EXPECT_TRUE(os::IsFileLocked(job_folder_.am_guard()));
  master->Kill();
  ASSERT_TRUE(AwaitEnd(*master));
  EXPECT_TRUE(master->ended());
  EXPECT_TRUE(Eventually([this] { return !os::IsFileLocked(job_folder_.am_guard()); }));
}

TEST_F(MasterProcessTest, CanBeKilled) {
  ASSERT_EQ(Stage({{"tony.worker.command", "sleep 600"}}), absl::OkStatus());
  auto master = Start();
  ASSERT_TRUE(master.ok()) << master.status();
  master->Kill();
  ASSERT_TRUE(AwaitEnd(*master));
  EXPECT_TRUE(master->ended());
}

TEST_F(MasterProcessTest, OneWhoseClientGoesBeforeItConnectsEndsItsJob) {
  ASSERT_EQ(Stage({{"tony.worker.command", "sleep 600"}}), absl::OkStatus());
  auto master = MasterProcess::Start(job_folder_, {.deadline = kPatience});
  ASSERT_TRUE(master.ok()) << master.status();
  const auto process = os::ProcessHandle::Open(master->pid());
  ASSERT_TRUE(process.ok()) << process.status();
  master = absl::CancelledError("the client is gone");
  ASSERT_TRUE(os::WaitReadable(process->pidfd(), kPatience));
  EXPECT_THAT(os::Contents(job_folder_.events()), HasSubstr("CLIENT_GONE"));
  ::waitpid(process->pid(), nullptr, 0);
}

TEST_F(MasterProcessTest, OneThatEndsAtOnceIsQuotedWithItsLastWords) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  os::Put(job_folder_.job_xml(), "<configuration><property>");
  const auto master = Start();
  EXPECT_EQ(master.status().code(), absl::StatusCode::kUnavailable);
  const std::string message(master.status().message());
  EXPECT_THAT(message, HasSubstr(job_folder_.logs() + "/am.log"));
  EXPECT_THAT(message, HasSubstr("tony-am: "));
  EXPECT_THAT(message, HasSubstr(job_folder_.job_xml()));
  EXPECT_TRUE(HasNoChildren());
}

TEST_F(MasterProcessTest, OnlyTheLastLinesAreQuoted) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  os::Put(job_folder_.job_xml(), "<configuration><property>");
  std::string earlier;
  for (int i = 1; i <= 50; ++i) absl::StrAppend(&earlier, "earlier line ", i, ".\n");
  os::Put(job_folder_.logs() + "/am.log", earlier);
  const std::string message(Start().status().message());
  EXPECT_THAT(message, ::testing::Not(HasSubstr("earlier line 40.")));
  EXPECT_THAT(message, HasSubstr("earlier line 50."));
  EXPECT_THAT(message, HasSubstr("tony-am: "));
}

TEST_F(MasterProcessTest, OneThatHangsIsKilledAtItsDeadline) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  // It waits for somebody who writes into the pipe.
  std::filesystem::remove(job_folder_.staged());
  ASSERT_EQ(::mkfifo(job_folder_.staged().c_str(), 0600), 0);
  const auto master = Start(milliseconds(200));
  EXPECT_EQ(master.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(master.status().message()), HasSubstr("tony.client.am-start-timeout-ms"));
  EXPECT_TRUE(HasNoChildren());
  // It was its keeper's child, and is killed with it.
  EXPECT_TRUE(Eventually([this] { return !os::IsFileLocked(job_folder_.am_lock()); }));
}

TEST_F(MasterProcessTest, AFolderWithoutLogsIsNamed) {
  const auto master = Start();
  EXPECT_EQ(master.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(master.status().message()), HasSubstr(job_folder_.logs()));
}

TEST_F(MasterProcessTest, AnAddressThatWasNotPublishedIsUnavailable) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  EXPECT_EQ(ConnectToJob(job_folder_).status().code(), absl::StatusCode::kUnavailable);
  os::Put(job_folder_.am_address(), "127.0.0.1:1\n");
  EXPECT_TRUE(ConnectToJob(job_folder_).ok());
  std::filesystem::remove(job_folder_.client_credentials());
  EXPECT_EQ(ConnectToJob(job_folder_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tony::client
