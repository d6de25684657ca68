// When the logs of a cluster's job are copied for its page, and what the page is told.
#include "portal/site/job_log_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "portal/mirror/mirrored_logs.h"
#include "tests/common/loop_driver.h"
#include "tests/portal/mirror/collected_job.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

class JobLogCopyTest : public ::testing::Test {
 protected:
  /// Begins what is due, and waits until what has begun has ended.
  void Tick() {
    copy_.Tick();
    // Of one location, one copy follows the other. This one's job is none, which ends at once.
    bool ended = false;
    copies_.Ask({location_.path(), absl::StrCat("application_1700000000000_", ++others_)}, [&] {
      ended = true;
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return ended; }));
  }
  void Want() {
    copy_.Want();
    Tick();
  }

  const os::TemporaryFolder location_;
  const CollectingCluster cluster_;
  const CollectedJob job_{location_.path(), 1};
  LoopDriver driver_;
  FakeClock clock_;
  int others_ = 1000;
  int asked_ = 0;  ///< by the threads, whose work has ended when it is read
  absl::Status trouble_;
  LogCopies copies_{
      driver_.loop(),
      clock_,
      {{location_.path(), [this](const std::stop_token&) -> absl::StatusOr<backend::YarnCluster> {
          ++asked_;
          if (!trouble_.ok()) return trouble_;
          return cluster_.Find();
        }}}};
  JobLogCopy copy_{copies_, clock_, {location_.path(), job_.id()}, job_.folder()};
};

TEST_F(JobLogCopyTest, LogsAreCopiedWhenSomebodyWantsThem) {
  cluster_.Collect(job_, "node_1");
  Tick();
  EXPECT_FALSE(copy_.state().here) << "nobody has asked";
  EXPECT_EQ(copy_.state().note, "The portal has not copied them from the cluster.");
  copy_.Want();
  EXPECT_EQ(copy_.state().note, "The portal copies them from where YARN has collected them.");
  Tick();
  EXPECT_TRUE(copy_.state().here);
  EXPECT_EQ(copy_.state().note, "");
}

TEST_F(JobLogCopyTest, TheEndOfTheJobIsAwaited) {
  cluster_.Collect(job_, "node_1");
  job_.ForgetThatItIsOver();
  Want();
  EXPECT_FALSE(copy_.state().here);
  EXPECT_THAT(copy_.state().note, HasSubstr("when the job has ended"));
  os::Put(job_.folder().root() + "/copied", "");
  Tick();
  EXPECT_TRUE(copy_.state().here);
}

TEST_F(JobLogCopyTest, AClusterThatDoesNotAnswerIsAskedAgainWithGrowingPauses) {
  cluster_.Collect(job_, "node_1");
  trouble_ = absl::UnavailableError("no route to host");
  Want();
  EXPECT_THAT(copy_.state().note, HasSubstr("cannot copy them: no route to host. It tries again."));
  const int others = asked_;  // each Tick() asks for a job that is none
  int copies = 0;
  for (int second = 0; second < 60; ++second) {
    clock_.Advance(std::chrono::seconds(1));
    const int before = asked_;
    Tick();
    copies += asked_ - before - 1;
  }
  EXPECT_EQ(others, 2);
  EXPECT_EQ(copies, 3) << "after 5 s, 10 s and 20 s";
  trouble_ = absl::OkStatus();
  clock_.Advance(LogCopies::kLongestPause);
  Tick();
  EXPECT_TRUE(copy_.state().here);
}

// As when one node collects them before another.
TEST_F(JobLogCopyTest, WhatIsMissingIsAskedForAgain) {
  cluster_.Collect(job_, "node_1", {{"_000003", "_000004"}});
  Want();
  EXPECT_TRUE(copy_.state().here);
  EXPECT_THAT(copy_.state().note, HasSubstr("Not all logs were copied: YARN has collected no"));
  cluster_.Collect(job_, "node_2");
  Tick();
  EXPECT_NE(copy_.state().note, "");
  clock_.Advance(LogCopies::kFirstPause);
  Tick();
  EXPECT_EQ(copy_.state().note, "");
}

TEST_F(JobLogCopyTest, AFullDiskIsNotFilledAgainAndAgain) {
  cluster_.Collect(job_, "node_1");
  trouble_ = absl::ResourceExhaustedError("no space left on device");
  Want();
  EXPECT_THAT(copy_.state().note, HasSubstr("no space left on device"));
  trouble_ = absl::OkStatus();
  clock_.Advance(LogCopies::kLongestPause - std::chrono::seconds(1));
  Tick();
  EXPECT_FALSE(copy_.state().here);
  clock_.Advance(std::chrono::seconds(1));
  Tick();
  EXPECT_TRUE(copy_.state().here);
}

// As when the job is closed here and opened again, or two visitors look at it.
TEST_F(JobLogCopyTest, ThePausesAreThoseOfTheJobWhoeverAsks) {
  trouble_ = absl::UnavailableError("no route to host");
  Want();
  const int before = asked_;
  JobLogCopy another(copies_, clock_, {location_.path(), job_.id()}, job_.folder());
  another.Want();
  EXPECT_EQ(another.state().note, copy_.state().note);
  Tick();
  EXPECT_EQ(asked_, before + 1) << "Tick() asks for a job that is none";
}

TEST_F(JobLogCopyTest, WhatAnEarlierPortalHasLeftIsRemoved) {
  os::Put(location_ / "new-logs/logs/am.log", "half of it");
  LogCopies copies(driver_.loop(), clock_, {{location_.path(), [](const std::stop_token&) {
                                               return absl::UnavailableError("no cluster");
                                             }}});
  bool ended = false;
  copies.Ask({location_.path(), job_.id()}, [&] {
    ended = true;
    driver_.Changed();
  });
  EXPECT_TRUE(driver_.Await([&] { return ended; }));
  EXPECT_FALSE(std::filesystem::exists(location_ / "new-logs"));
}

TEST_F(JobLogCopyTest, LogsThatAreLookedAtAreKept) {
  cluster_.Collect(job_, "node_1");
  Want();
  clock_.Advance(MirroredLogs::kInUse);
  Tick();
  const CollectedJob second(location_.path(), 2);
  cluster_.Collect(second, "node_1");
  const absl::Status no_room =
      MirroredLogs(location_.path(), clock_, {.bytes = 30'000, .job_bytes = 1 << 20})
          .Copy(cluster_.Find(), second.id());
  EXPECT_TRUE(absl::IsResourceExhausted(no_room)) << no_room;
}

}  // namespace
}  // namespace tony::portal
