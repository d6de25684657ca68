// The thread that copies: its sentences, and its end.
#include "portal/mirror/mirror_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "storage/local_job_files.h"
#include "tests/common/eventually.h"
#include "tests/os/network/silent_server.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

/// What the thread says. Thread safe.
class Sentences {
 public:
  std::function<void(const std::string&)> Taker() {
    return [this](const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      sentences_.push_back(sentence);
    };
  }
  /// Waits for the first one.
  std::string First() {
    std::string first;
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      if (!sentences_.empty()) first = sentences_.front();
      return !sentences_.empty();
    }));
    return first;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

MirrorSource SourceOf(const std::string& folder, absl::Status failure) {
  return {.name = "hdfs://nn/history",
          .jobs = "The jobs of hdfs://nn/history",
          .folder = folder,
          .rest = "they lie there",
          .open = [failure](const std::stop_token&) -> absl::StatusOr<JobMirror::Cluster> {
            return failure;
          }};
}

TEST(MirrorThread, SaysSinceWhenItsJobsAreOld) {
  os::TemporaryFolder here, there;
  FakeClock clock;
  const std::string note = absl::StrCat(here.path(), "/", MirrorThread::kAnsweredFile);
  {
    Sentences sentences;
    const MirrorThread thread(SourceOf(here.path(), absl::UnavailableError("no NameNode answers")),
                              clock, sentences.Taker());
    EXPECT_THAT(sentences.First(),
                HasSubstr("hdfs://nn/history cannot be read: no NameNode answers."));
  }
  {
    MirrorSource source = SourceOf(here.path(), absl::OkStatus());
    source.open = [&there](const std::stop_token&) -> absl::StatusOr<JobMirror::Cluster> {
      JobMirror::Cluster cluster;
      cluster.files = std::make_unique<storage::LocalJobFiles>(there.path());
      cluster.is_over = [](const std::string&) { return true; };
      return cluster;
    };
    const MirrorThread thread(std::move(source), clock, [](const std::string&) {});
    EXPECT_TRUE(Eventually([&] { return os::ReadFile(note).ok(); }));
  }
  ASSERT_TRUE(os::WriteFileAtomically(note, "1700000000000").ok());
  Sentences sentences;
  const MirrorThread thread(SourceOf(here.path(), absl::UnavailableError("no NameNode answers")),
                            clock, sentences.Taker());
  EXPECT_EQ(sentences.First(),
            "The jobs of hdfs://nn/history are shown as they were when it last answered, at "
            "2023-11-14 22:13:20 UTC: no NameNode answers.");
}

// Ctrl-C: neither the name node's silence nor its timeout is waited for.
TEST(MirrorThread, EndsWhileTheNameNodeIsSilent) {
  os::TemporaryFolder here;
  const FakeClock clock;
  const os::SilentServer server;
  const HdfsLocation location =
      ParseHdfsLocation(absl::StrCat("webhdfs://", server.address(), "/history")).value();
  const backend::YarnClusterOptions hadoop{.user = "ann", .timeout = std::chrono::seconds(600)};
  Sentences sentences;
  MirrorSource source = LocationSource(here.path(), location, hadoop,
                                       [](const std::string&) { return std::nullopt; });
  EXPECT_THAT(source.folder, HasSubstr(here.path() + "/clusters/"));
  auto thread = std::make_unique<MirrorThread>(std::move(source), clock, sentences.Taker());
  ASSERT_TRUE(server.WaitForConnection());
  const auto begin = std::chrono::steady_clock::now();
  thread.reset();
  // A second, on a machine that has time.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tony::portal
