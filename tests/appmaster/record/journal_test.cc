// The journal: what the next ApplicationMaster finds, and how one learns that it was replaced.
#include "appmaster/record/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "storage/local_job_files.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;
namespace decision = core::decision;

core::Decision Verdict(const std::string& sentence) {
  core::Verdict verdict;
  verdict.sentence = sentence;
  return decision::VerdictReached{verdict};
}

std::string SentenceOf(const core::Decision& decision) {
  return std::get<decision::VerdictReached>(decision).verdict.sentence;
}

class JournalTest : public ::testing::Test {
 protected:
  absl::StatusOr<Journal> TryOpen() {
    return Journal::Open(std::make_unique<storage::LocalJobFiles>(folder_.path()), clock_, boot_);
  }
  Journal Open() { return TryOpen().value(); }

  // When the file of an entry was written, by the storage's clock.
  void SetFileTime(int entry, int64_t unix_seconds) {
    const std::string path = folder_ / absl::StrCat("journal/0000000", entry, ".json");
    const timespec times[2] = {{unix_seconds, 0}, {unix_seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }

  os::TemporaryFolder folder_;
  FakeClock clock_;
  std::string boot_ = "boot 1";
};

TEST_F(JournalTest, TheFirstFindsNothing) {
  Journal journal = Open();
  EXPECT_EQ(journal.incarnation(), 1);
  EXPECT_TRUE(journal.TakePast().empty());
}

TEST_F(JournalTest, TheNextFindsEveryKindAsItWas) {
  auto spec = std::make_shared<core::ClusterSpec>();
  spec->endpoints = {{{"worker", 0}, "h", 2222, "id", "0,1", false},
                     {{"tensorboard", 0}, "::1", 1, "id", "", true}};
  const core::TaskExit exit{core::TaskExit::Cause::kSignaled, 0, 9, "why", {"a", "b"}};
  core::Verdict verdict;
  verdict.outcome = core::Outcome::kFailed;
  verdict.reason = core::Reason::kTaskLost;
  verdict.guilty = core::TaskId{"worker", 1};
  verdict.exit = exit;
  const core::Container container{"j-c0001", "worker", "h", "id", {2, 3}, {64, 1, 2}};
  const core::Decisions all = {
      decision::ContainerBound{container, {"worker", 7}},
      decision::GangReleased{4, spec},
      decision::PlanAccepted{4, {5000, true, core::PlanSlots({{"a", 2}, {"b", 1}}, 3).value()}},
      decision::TaskConcluded{{"ps", 0}, exit},
      decision::TasksRestarted{5,
                               {},
                               "it failed",
                               core::TaskId{"ps", 0},
                               {1, 2, 3, 4},
                               std::chrono::seconds(2),
                               false,
                               {{"worker", 2}, {"worker", 3}}},
      decision::TasksRestarted{5, {{"ps", 0}, {"worker", 3}}, "", std::nullopt, {}, {}},
      decision::TrackingStopped{"evaluator"},
      decision::VerdictReached{verdict},
      decision::ExecutorStarted{"j-c0001", {123, int64_t{1} << 40}}};
  ASSERT_EQ(Open().Write(all), absl::OkStatus());

  const std::vector<Journal::Past> past = Open().TakePast();
  ASSERT_EQ(past.size(), 1u);
  ASSERT_EQ(past[0].decisions.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(past[0].decisions[i].index(), all[i].index());
  const auto& found = past[0].decisions;
  EXPECT_EQ(std::get<0>(found[0]), std::get<0>(all[0]));
  EXPECT_EQ(std::get<1>(found[1]).epoch, 4);
  EXPECT_EQ(*std::get<1>(found[1]).spec, *spec);
  EXPECT_EQ(std::get<2>(found[2]), std::get<2>(all[2]));
  EXPECT_EQ(std::get<3>(found[3]), std::get<3>(all[3]));
  EXPECT_EQ(std::get<4>(found[4]), std::get<4>(all[4]));
  EXPECT_EQ(std::get<4>(found[5]), std::get<4>(all[5]));
  EXPECT_EQ(std::get<5>(found[6]), std::get<5>(all[6]));
  EXPECT_EQ(std::get<6>(found[7]), std::get<6>(all[7]));
  EXPECT_EQ(std::get<7>(found[8]), std::get<7>(all[8]));
}

TEST_F(JournalTest, KnowsHowLongAgoItWas) {
  ASSERT_EQ(Open().Write({Verdict("1")}), absl::OkStatus());
  clock_.Advance(std::chrono::seconds(90));
  Journal next = Open();
  EXPECT_EQ(next.incarnation(), 2);
  EXPECT_EQ(clock_.Now() - next.TakePast().at(0).at, std::chrono::seconds(90));
}

TEST_F(JournalTest, AWallClockThatIsSetMakesNothingOlderOrYounger) {
  for (const std::chrono::hours set : {std::chrono::hours(31 * 24), std::chrono::hours(-24)}) {
    ASSERT_EQ(Open().Write({Verdict("1")}), absl::OkStatus());
    clock_.Advance(std::chrono::seconds(5));
    clock_.SetWallClock(set);
    clock_.Advance(std::chrono::seconds(5));
    EXPECT_EQ(clock_.Now() - Open().TakePast().back().at, std::chrono::seconds(10));
  }
}

TEST_F(JournalTest, EntriesOfAnotherMachineAreAsOldAsTheStorageSays) {
  Journal first = Open();
  ASSERT_EQ(first.Write({Verdict("1")}), absl::OkStatus());
  clock_.Advance(std::chrono::seconds(7));
  ASSERT_EQ(first.Write({Verdict("2")}), absl::OkStatus());
  // The next machine started at another time, and its wall clock is wrong.
  boot_ = "boot 2";
  clock_.Advance(std::chrono::hours(500));
  const int64_t now = static_cast<int64_t>(std::time(nullptr));
  SetFileTime(3, now - 60);
  const std::vector<Journal::Past> past = Open().TakePast();
  ASSERT_EQ(past.size(), 2u);
  const auto age = [&](size_t index) {
    return std::chrono::duration<double>(clock_.Now() - past[index].at).count();
  };
  // The file of the announcement is made now, which takes a moment.
  EXPECT_NEAR(age(1), 60, 30);
  EXPECT_DOUBLE_EQ(age(0), age(1) + 7);
}

TEST_F(JournalTest, EntriesWithoutABootAreAsOldAsTheWallClockSays) {
  boot_.clear();
  ASSERT_EQ(Open().Write({Verdict("1")}), absl::OkStatus());
  clock_.Advance(std::chrono::seconds(90));
  EXPECT_EQ(clock_.Now() - Open().TakePast().at(0).at, std::chrono::seconds(90));
  clock_.SetWallClock(-std::chrono::hours(24));
  EXPECT_EQ(clock_.Now() - Open().TakePast().at(0).at, Duration(0)) << "it is in the future";
}

TEST_F(JournalTest, OneThatWasReplacedLearnsItAtItsNextDecision) {
  Journal first = Open();
  ASSERT_EQ(first.Write({Verdict("1")}), absl::OkStatus());
  Journal second = Open();
  EXPECT_EQ(first.Write({Verdict("2")}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(second.Write({Verdict("3")}), absl::OkStatus());
  const std::vector<Journal::Past> past = Open().TakePast();
  ASSERT_EQ(past.size(), 2u);
  EXPECT_EQ(SentenceOf(past[1].decisions.at(0)), "3");
}

TEST_F(JournalTest, WhatAFullDiskRefusedIsWrittenWithTheNext) {
  Journal journal = Open();
  {
    const os::FileSizeLimit full(0);
    EXPECT_FALSE(journal.Write({Verdict("1")}).ok());
    EXPECT_FALSE(journal.Write({Verdict("2")}).ok());
  }
  ASSERT_EQ(journal.Write({Verdict("3")}), absl::OkStatus());
  const std::vector<Journal::Past> past = Open().TakePast();
  ASSERT_EQ(past.size(), 1u);
  ASSERT_EQ(past[0].decisions.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(SentenceOf(past[0].decisions[static_cast<size_t>(i)]), std::to_string(i + 1));
  }
}

TEST_F(JournalTest, AnUnreadableEntryIsNamed) {
  (void)Open();
  os::Put(folder_ / "journal/00000002.json", "{\"decisions\":[{}]}");
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("00000002.json"));
}

}  // namespace
}  // namespace tony::appmaster
