// Tests that a process that may start too few threads reports it and does not hang.
#include "rpc/grpc/grpc_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "rpc/security/certificate_authority.h"
#include "rpc/security/role.h"
#include "rpc/services/job_client.h"

namespace tony::rpc {
namespace {

// Each death test is this program once more, in which gRPC has not begun.
class GrpcThreadsDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  // Becomes a user whom no account belongs to, who may have `processes` and threads, and is ended
  // when it hangs.
  static void Limit(rlim_t processes) {
    const uid_t user = 55'000 + static_cast<uid_t>(::getpid()) % 5000;
    const rlimit limit{processes, processes};
    const bool limited =
        ::setrlimit(RLIMIT_NPROC, &limit) == 0 && ::setgid(user) == 0 && ::setuid(user) == 0;
    ::alarm(60);
    if (!limited) ::_exit(99);
  }

  [[noreturn]] static void StartAndExit() {
    const auto threads = GrpcThreads::Start();
    std::fprintf(stderr, "%s\n", threads.status().ToString().c_str());
    ::_exit(threads.ok() ? 0 : 3);
  }
};

TEST_F(GrpcThreadsDeathTest, TooFewAreRefusedAtOnceHoweverManyThereAre) {
  for (const rlim_t processes : {1, 2, 3, 5, 7}) {
    SCOPED_TRACE(processes);
    EXPECT_EXIT((Limit(processes), StartAndExit()), testing::ExitedWithCode(3),
                "RESOURCE_EXHAUSTED: cannot start a thread: .*ulimit -u");
  }
  EXPECT_EXIT((Limit(100), StartAndExit()), testing::ExitedWithCode(0), "OK");
}

TEST_F(GrpcThreadsDeathTest, NobodyWaitsForThreadsThatCouldNotBeStarted) {
  const auto end = [] {
    (void)GrpcThreads::Start();  // and lets go of them
    ::_exit(0);
  };
  for (rlim_t processes = 2; processes <= 20; ++processes) {
    EXPECT_EXIT((Limit(processes), end()), testing::ExitedWithCode(0), "") << processes;
  }
}

TEST_F(GrpcThreadsDeathTest, AClientIsRidOfACallThatNobodyEnds) {
  const auto use = [] {
    auto authority = CertificateAuthority::Create("j").value();
    const Credentials credentials = authority.Issue(ClientRole("j")).value();
    Limit(1);
    int heard = 0;
    {
      JobClient client("127.0.0.1:1", credentials);
      client.Follow(
          0, /*owner=*/true,
          {[&](const core::JobEvent&) { ++heard; }, [&](const absl::Status&) { ++heard; }});
      client.StopLater("enough", std::chrono::seconds(60), [&](const absl::Status&) { ++heard; });
    }
    std::fprintf(stderr, "heard %d\n", heard);
    ::_exit(0);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), "heard 0");
}

TEST(GrpcThreadsTest, WhereThereAreThreadsNothingIsSaid) {
  const auto threads = GrpcThreads::Start();
  EXPECT_TRUE(threads.ok()) << threads.status();
}

}  // namespace
}  // namespace tony::rpc
