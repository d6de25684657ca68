// Logs that YARN has collected, copied beside the records of a job that is over.
#include "portal/mirror/mirrored_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "history/log_mirror.h"
#include "tests/portal/mirror/collected_job.h"

namespace tony::portal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MirroredLogsTest : public ::testing::Test {
 protected:
  absl::Status Copy(const CollectedJob& job, MirroredLogs::Limits limits = {}) {
    return MirroredLogs(location_.path(), clock_, limits).Copy(cluster_.Find(), job.id());
  }
  bool HasRests() const { return MirroredLogs(location_.path(), clock_).HasRests(); }
  bool IsHere(const CollectedJob& job) const { return FindMirroredLogs(job.folder()).copied; }

  const os::TemporaryFolder location_;
  const CollectingCluster cluster_;
  FakeClock clock_;
  const CollectedJob job_{location_.path(), 1};
};

TEST_F(MirroredLogsTest, AreLaidOutLikeThoseOfAJobOfThisMachine) {
  cluster_.Collect(job_, "node_1");
  EXPECT_FALSE(IsHere(job_));
  EXPECT_TRUE(Copy(job_).ok());
  const LogsHere here = FindMirroredLogs(job_.folder());
  EXPECT_TRUE(here.copied);
  EXPECT_EQ(here.missing, "");
  const std::string logs = job_.folder().logs();
  EXPECT_EQ(os::Contents(logs + "/am.log"), "master\n");
  EXPECT_EQ(os::Contents(logs + "/worker-0/attempt-1/stdout.log"),
            "hello from 2\nand again from 2\n");
  EXPECT_EQ(os::Contents(logs + "/worker-0/attempt-1/stderr.log"), "");
  EXPECT_EQ(os::Contents(logs + "/worker-1/executor.log"), "said by executor 3\n");
  EXPECT_FALSE(HasRests());
}

TEST_F(MirroredLogsTest, NothingIsCopiedOfAJobThatMayGoOn) {
  cluster_.Collect(job_, "node_1");
  job_.ForgetThatItIsOver();
  EXPECT_TRUE(absl::IsNotFound(Copy(job_)));
  EXPECT_FALSE(IsHere(job_));
}

TEST_F(MirroredLogsTest, WhatIsNotCollectedIsSaid) {
  const absl::Status none = Copy(job_);
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("YARN has collected no logs of"));
  EXPECT_FALSE(IsHere(job_));
}

TEST_F(MirroredLogsTest, WhatIsMissingIsSaidUntilItHasCome) {
  cluster_.Collect(job_, "node_1", {{"_000003", "_000004"}});
  ASSERT_TRUE(Copy(job_).ok());
  const LogsHere here = FindMirroredLogs(job_.folder());
  EXPECT_TRUE(here.copied);
  EXPECT_EQ(here.missing, "YARN has collected no logs of 1 container (yet), of worker:1");

  cluster_.Collect(job_, "node_2");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_EQ(FindMirroredLogs(job_.folder()).missing, "");
  EXPECT_TRUE(std::filesystem::exists(job_.folder().logs() + "/worker-1/executor.log"));
}

TEST_F(MirroredLogsTest, ANodeThatIsStillWritingIsNamed) {
  cluster_.Collect(job_, "node_1", {{"_000003", "_000004"}});
  cluster_.Collect(job_, "node_2.tmp");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_THAT(FindMirroredLogs(job_.folder()).missing,
              AllOf(HasSubstr("has not ended on node_2 yet"), HasSubstr("node_2.tmp")));
}

TEST_F(MirroredLogsTest, ASmallerCopyThatLacksSomethingReplacesNone) {
  // Of both workers, but of another ApplicationMaster.
  cluster_.Collect(job_, "node_1", {{"_000001", "_000009"}});
  ASSERT_TRUE(Copy(job_).ok());
  const LogsHere first = FindMirroredLogs(job_.folder());
  EXPECT_THAT(first.missing, HasSubstr("of am"));
  cluster_.Collect(job_, "node_2", {{"_000003", "_000004"}});
  cluster_.Remove(job_, "node_1");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_TRUE(std::filesystem::exists(job_.folder().logs() + "/worker-1/executor.log"));
  const LogsHere second = FindMirroredLogs(job_.folder());
  EXPECT_EQ(second.missing, first.missing) << "it is about the copy that is here";
  EXPECT_NE(second.listing, first.listing) << "the same is not read again";
}

TEST_F(MirroredLogsTest, WhatIsSaidToBeMissingIsNewAlsoWhenNothingElseIs) {
  cluster_.Collect(job_, "node_1", {{"_000003", "_000004"}});
  cluster_.Collect(job_, "node_2.tmp");
  ASSERT_TRUE(Copy(job_).ok());
  cluster_.Remove(job_, "node_2.tmp");
  cluster_.Damage(job_, "node_2");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_THAT(FindMirroredLogs(job_.folder()).missing,
              AllOf(HasSubstr("node_2: "), Not(HasSubstr("node_2.tmp"))));
}

TEST_F(MirroredLogsTest, AHistoryThatWasTooLongIsSaid) {
  cluster_.Collect(job_, "node_1");
  os::Put(job_.folder().root() + "/copied", "cut");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_THAT(FindMirroredLogs(job_.folder()).missing, HasSubstr("history is too long"));
}

TEST_F(MirroredLogsTest, ADamagedRecordIsNone) {
  cluster_.Collect(job_, "node_1");
  ASSERT_TRUE(Copy(job_).ok());
  for (const char* record : {"", "{", "[]", R"({"missing": 7, "listing": null})"}) {
    os::Put(job_.folder().logs() + "/copied.json", record);
    EXPECT_TRUE(IsHere(job_)) << record;
    EXPECT_EQ(FindMirroredLogs(job_.folder()).missing, "") << record;
  }
}

TEST_F(MirroredLogsTest, WhatIsHereAlreadyIsNotReadAgain) {
  cluster_.Collect(job_, "node_1", {{"_000003", "_000004"}});
  ASSERT_TRUE(Copy(job_).ok());
  const std::string log = job_.folder().logs() + "/am.log";
  os::Put(log, "as it was");
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_EQ(os::Contents(log), "as it was");
}

TEST_F(MirroredLogsTest, WhatIsStoppedLeavesNothing) {
  cluster_.Collect(job_, "node_1");
  std::stop_source stop;
  stop.request_stop();
  const absl::Status stopped =
      MirroredLogs(location_.path(), clock_).Copy(cluster_.Find(), job_.id(), stop.get_token());
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_FALSE(IsHere(job_));
  EXPECT_FALSE(HasRests());
}

TEST_F(MirroredLogsTest, ManyDamagedFilesAreNamedInAShortSentence) {
  cluster_.Collect(job_, "node_1");
  for (int node = 2; node < 50; ++node) cluster_.Damage(job_, absl::StrCat("node_", node));
  ASSERT_TRUE(Copy(job_).ok());
  const std::string missing = FindMirroredLogs(job_.folder()).missing;
  EXPECT_THAT(missing, AllOf(HasSubstr("node_"), HasSubstr("…")));
  EXPECT_LT(missing.size(), 1000);
}

TEST_F(MirroredLogsTest, OfALargeJobWhatFitsIsCopied) {
  cluster_.Collect(job_, "node_1");
  ASSERT_TRUE(Copy(job_, {.job_bytes = history::LogMirror::kFileBytes + 20}).ok());
  EXPECT_EQ(os::Contents(job_.folder().logs() + "/am.log"), "master\n");
  EXPECT_FALSE(std::filesystem::exists(job_.folder().logs() + "/worker-1/executor.log"));
  EXPECT_THAT(FindMirroredLogs(job_.folder()).missing, HasSubstr("would take more than"));
}

TEST_F(MirroredLogsTest, WhatFitsBesideOthersIsCopiedAndTheRestWhenThereIsRoom) {
  const MirroredLogs::Limits limits{.bytes = 12 * history::LogMirror::kFileBytes,
                                    .job_bytes = 1 << 20};
  const CollectedJob second(location_.path(), 2);
  for (const CollectedJob* each : {&job_, &second}) cluster_.Collect(*each, "node_1");
  ASSERT_TRUE(Copy(job_, limits).ok());
  ASSERT_TRUE(Copy(second, limits).ok());
  EXPECT_THAT(FindMirroredLogs(second.folder()).missing, HasSubstr("would take more than"));
  clock_.Advance(MirroredLogs::kInUse);
  ASSERT_TRUE(Copy(second, limits).ok());
  EXPECT_EQ(FindMirroredLogs(second.folder()).missing, "");
  EXPECT_FALSE(IsHere(job_));
}

TEST_F(MirroredLogsTest, LogsThatNobodyHasLookedAtForLongMakeRoom) {
  // Each has seven files and some 100 bytes.
  const MirroredLogs::Limits limits{.bytes = 15 * history::LogMirror::kFileBytes,
                                    .job_bytes = 1 << 20};
  const CollectedJob second(location_.path(), 2), third(location_.path(), 3);
  for (const CollectedJob* each : {&job_, &second, &third}) cluster_.Collect(*each, "node_1");
  ASSERT_TRUE(Copy(job_, limits).ok());
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(Copy(second, limits).ok());

  const absl::Status no_room = Copy(third, limits);
  EXPECT_TRUE(absl::IsResourceExhausted(no_room)) << no_room;
  EXPECT_TRUE(IsHere(job_));
  EXPECT_FALSE(IsHere(third));
  EXPECT_FALSE(HasRests());

  clock_.Advance(MirroredLogs::kInUse);
  NoteUseOfLogs(job_.folder(), clock_);
  ASSERT_TRUE(Copy(third, limits).ok());
  EXPECT_TRUE(IsHere(job_)) << "it was looked at last";
  EXPECT_FALSE(IsHere(second));
  EXPECT_TRUE(IsHere(third));
}

TEST_F(MirroredLogsTest, WhatAnEarlierProcessHasLeftIsNoHindrance) {
  cluster_.Collect(job_, "node_1");
  os::Put(location_ / "new-logs/logs/am.log", "half of ano");
  os::Put(location_ / "old-logs/logs/am.log", "rest");
  EXPECT_TRUE(HasRests());
  ASSERT_TRUE(Copy(job_).ok());
  EXPECT_FALSE(HasRests());
  EXPECT_EQ(os::Contents(job_.folder().logs() + "/am.log"), "master\n");
}

}  // namespace
}  // namespace tony::portal
