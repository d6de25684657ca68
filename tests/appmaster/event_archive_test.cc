// Events in a row of files.
#include "appmaster/event_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/archived_events.h"
#include "backend/local_job_files.h"
#include "os/files.h"
#include "tests/os/file_size_limit.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;

constexpr std::chrono::hours kForEver{24};

class EventArchiveTest : public ::testing::Test {
 protected:
  std::unique_ptr<EventArchive> Open(Duration pause = Duration::zero()) {
    return EventArchive::Open(std::make_unique<backend::LocalJobFiles>(folder_.path()), pause)
        .value();
  }

  os::TemporaryFolder folder_;
  backend::LocalJobFiles files_{folder_.path()};
};

TEST_F(EventArchiveTest, WhatWasAddedIsKeptInOrder) {
  EXPECT_EQ(backend::ReadArchivedEvents(files_).value(), "");
  {
    const auto archive = Open();
    for (const char* line : {"1\n", "2\n", "3\n"}) archive->Add(line);
  }
  EXPECT_EQ(backend::ReadArchivedEvents(files_).value(), "1\n2\n3\n");
}

TEST_F(EventArchiveTest, WhatComesInAPauseGoesIntoOneFile) {
  {
    const auto archive = Open(kForEver);
    archive->Add("1\n");
    while (files_.List("events").value().empty()) std::this_thread::yield();
    archive->Add("2\n");
    archive->Add("3\n");
  }
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001.jsonl", "00000002.jsonl"));
  EXPECT_EQ(backend::ReadArchivedEvents(files_).value(), "1\n2\n3\n");
}

TEST_F(EventArchiveTest, TheNextOneGoesOnBehindIt) {
  Open()->Add("1\n");
  Open()->Add("2\n");
  EXPECT_THAT(files_.List("events").value(), ElementsAre("00000001.jsonl", "00000002.jsonl"));
  os::Put(folder_ / "events/zzz", "");
  EXPECT_FALSE(
      EventArchive::Open(std::make_unique<backend::LocalJobFiles>(folder_.path()), kForEver).ok());
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
  EXPECT_EQ(backend::ReadArchivedEvents(files_).value(), "1\n2\n");
}

}  // namespace
}  // namespace tony::appmaster
