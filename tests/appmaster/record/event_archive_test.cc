// Events in a row of files.
#include "appmaster/record/event_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "storage/archived_events.h"
#include "storage/local_job_files.h"
#include "tests/common/eventually.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;

constexpr std::chrono::hours kForEver{24};

class EventArchiveTest : public ::testing::Test {
 protected:
  std::unique_ptr<EventArchive> Open(Duration pause = Duration::zero()) {
    return EventArchive::Open(std::make_unique<storage::LocalJobFiles>(folder_.path()), pause)
        .value();
  }
  /// The events in the files; none while these cannot be read.
  std::string Archived() { return storage::ReadArchivedEvents(files_).value_or(""); }

  os::TemporaryFolder folder_;
  storage::LocalJobFiles files_{folder_.path()};
};

TEST_F(EventArchiveTest, WhatWasAddedIsKeptInOrder) {
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "");
  {
    const auto archive = Open();
    for (const char* line : {"1\n", "2\n", "3\n"}) archive->Add(line);
  }
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n3\n");
}

TEST_F(EventArchiveTest, WhatComesInAPauseGoesIntoOneFile) {
  {
    const auto archive = Open(kForEver);
    archive->Add("1\n");
    ASSERT_TRUE(Eventually([&] { return !files_.List("events").value().empty(); }));
    archive->Add("2\n");
    archive->Add("3\n");
  }
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001.jsonl", "00000002.jsonl"));
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n3\n");
}

TEST_F(EventArchiveTest, TheNextOneGoesOnBehindIt) {
  Open()->Add("1\n");
  Open()->Add("2\n");
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001.jsonl", "00000002.jsonl"));
  os::Put(folder_ / "events/zzz", "");
  EXPECT_FALSE(
      EventArchive::Open(std::make_unique<storage::LocalJobFiles>(folder_.path()), kForEver).ok());
}

TEST_F(EventArchiveTest, SmallFilesAreKeptBehindTheLastEvents) {
  {
    const auto archive = Open(kForEver);
    archive->Add("1\n");
    ASSERT_TRUE(Eventually([&] { return !files_.List("events").value().empty(); }));
    archive->Add("2\n");
    archive->KeepFile(storage::kSummaryFile, "old");
    archive->KeepFile(storage::kSummaryFile, "{}");
  }
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n");
  EXPECT_EQ(files_.Read(storage::kSummaryFile).value(), "{}");
}

TEST_F(EventArchiveTest, AQuietJobThatIsMeasuredForADayLeavesOneFileOfMeasurements) {
  const auto archive = Open();
  archive->Add("1\n");
  // One measurement for each 30 s, written as fast as possible.
  for (int i = 1; i <= 24 * 120; ++i) archive->KeepUsage(absl::StrCat(i, "\n"));
  const auto kept = [&] { return os::ReadFile(folder_ / storage::kUsageFile).value_or(""); };
  ASSERT_TRUE(Eventually([&] { return kept() == "2880\n"; }));
  // Measurements may be written before the events that came with them.
  ASSERT_TRUE(Eventually([this] { return Archived() == "1\n"; }));
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001.jsonl"));
  EXPECT_THAT(files_.List("").value(), ElementsAre("events", storage::kUsageFile));
}

TEST_F(EventArchiveTest, TheLastMetricsAreKeptAtTheEnd) {
  const os::TemporaryFolder local;
  const std::string path = local / "metrics.bin";
  ASSERT_TRUE(os::WriteFileAtomically(path, "first").ok());
  auto archive = Open();
  const auto kept = [&] { return os::ReadFile(folder_ / storage::kMetricFile).value_or(""); };
  archive->KeepMetrics(path);
  ASSERT_TRUE(Eventually([&] { return kept() == "first"; }));
  ASSERT_TRUE(os::WriteFileAtomically(path, "last").ok());
  archive->Add("1\n");
  archive->KeepMetrics(path);
  archive.reset();
  EXPECT_EQ(kept(), "last");
  EXPECT_EQ(Archived(), "1\n");
}

TEST_F(EventArchiveTest, ManySmallFilesBecomeOneAcrossRestarts) {
  std::string all;
  constexpr int kFiles = 1'000;
  constexpr int kRestarts = 10;
  int number = 0;
  size_t most = 0;
  for (int restart = 0; restart < kRestarts; ++restart) {
    const auto archive = Open();
    for (int i = 0; i < kFiles / kRestarts; ++i) {
      const std::string line = absl::StrCat("line ", ++number, "\n");
      archive->Add(line);
      all += line;
      // One file for each, and a reader at any time.
      ASSERT_TRUE(Eventually([&] { return Archived() == all; }));
      most = std::max(most, files_.List("events").value().size());
    }
  }
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), all);
  // While one is made of them, they are there twice.
  EXPECT_LE(most, EventArchive::kMostSmallFiles + 2);
  Open()->Add("last\n");
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), all + "last\n");
}

TEST_F(EventArchiveTest, WhatWasMergedAndNotRemovedIsReadOnce) {
  os::Put(folder_ / "events/00000001.jsonl", "1\n");
  os::Put(folder_ / "events/00000002.jsonl", "2\n");
  os::Put(folder_ / "events/00000001-00000002.jsonl", "1\n2\n");
  os::Put(folder_ / "events/00000001-00000003.jsonl", "1\n2\n3\n");
  os::Put(folder_ / "events/00000004.jsonl", "4\n");
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n3\n4\n");
  Open()->Add("5\n");
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n3\n4\n5\n");
  EXPECT_TRUE(os::Exists(folder_ / "events/00000005.jsonl"));
}

TEST_F(EventArchiveTest, WhatWasMergedAndNotRemovedGoesWithTheNextMerging) {
  os::Put(folder_ / "events/00000001.jsonl", "s\n");
  os::Put(folder_ / "events/00000002.jsonl", "s\n");
  os::Put(folder_ / "events/00000001-00000002.jsonl", "s\ns\n");
  for (size_t number = 3; number <= EventArchive::kMostSmallFiles + 1; ++number) {
    const int file = static_cast<int>(number);
    os::Put(folder_ / absl::StrCat("events/", storage::EventFile::Of(file, file).name), "s\n");
  }
  const auto archive = Open();
  archive->Add("next\n");
  ASSERT_TRUE(Eventually([this] { return files_.List("events").value().size() <= 1; }));
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001-00000066.jsonl"));
}

TEST_F(EventArchiveTest, LargeFilesStayAsTheyAre) {
  const std::string large(EventArchive::kMostMergedBytes, 'x');
  os::Put(folder_ / "events/00000001.jsonl", large + "\n");
  for (size_t number = 2; number <= EventArchive::kMostSmallFiles; ++number) {
    const int file = static_cast<int>(number);
    os::Put(folder_ / absl::StrCat("events/", storage::EventFile::Of(file, file).name), "s\n");
  }
  const auto archive = Open();
  archive->Add("next\n");
  ASSERT_TRUE(Eventually([this] { return files_.List("events").value().size() <= 2; }));
  EXPECT_THAT(files_.List("events").value(),
              ElementsAre("00000001.jsonl", "00000002-00000065.jsonl"));
}

TEST_F(EventArchiveTest, TheEndIsKnownFromTheLastFileThatHasOne) {
  EXPECT_EQ(EventArchive::ReadEnd(files_)->sequence, 0);
  Open()->Add(rpc::EventToJsonLine({1, 0, core::JobNote{"a"}}) + "\n" +
              rpc::EventToJsonLine({2, 0, core::JobNote{"b"}}) + "\n");
  EXPECT_EQ(EventArchive::ReadEnd(files_)->sequence, 2);
  Open()->Add("garbage\n");
  EXPECT_EQ(EventArchive::ReadEnd(files_)->sequence, 2);
  Open()->Add(rpc::EventToJsonLine({3, 0, core::JobEnded{}}) + "\n");
  std::filesystem::remove(folder_ / "events/00000001.jsonl");
  const rpc::HistoryEnd end = EventArchive::ReadEnd(files_).value();
  EXPECT_EQ(end.sequence, 3);
  EXPECT_TRUE(end.ended);
  EXPECT_EQ(end.bytes, 0);
}

TEST_F(EventArchiveTest, WhatCouldNotBeWrittenComesWithTheNext) {
  {
    std::unique_ptr<EventArchive> archive;
    {
      const os::FileSizeLimit full(0);
      archive = Open();
      archive->Add("1\n");
    }
    archive->Add("2\n");
  }
  EXPECT_EQ(storage::ReadArchivedEvents(files_).value(), "1\n2\n");
}

}  // namespace
}  // namespace tony::appmaster
