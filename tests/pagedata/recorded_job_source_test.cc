// A job's page gets from the folder what it would get from the ApplicationMaster.
#include "pagedata/recorded_job_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "tests/client/job_folders.h"

namespace tony::pagedata {
namespace {

using client::AppendEvents;
using client::FailedJob;
using client::HeldLock;
using client::RunningJob;
using client::SampleEvents;
using client::WriteJob;
using ::testing::HasSubstr;

class RecordedJobSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordedJobSource> Load(const storage::JobFolder& folder) {
    auto source = RecordedJobSource::Load(folder, "local-1", clock_);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }
  /// Without a thread.
  static web::EventPage Events(RecordedJobSource& source, int64_t after, size_t limit) {
    web::EventPage page;
    source.ReadEvents(after, limit, [&page](absl::StatusOr<web::EventPage> read) {
      ASSERT_TRUE(read.ok()) << read.status();
      page = *std::move(read);
    });
    return page;
  }
  storage::JobFolder Write(const SampleEvents& job) {
    return WriteJob(local_.path(), "local-1", job.events());
  }

  os::TemporaryFolder local_;
  FakeClock clock_;
};

TEST_F(RecordedJobSourceTest, AnEndedJobIsAsItsEventsSay) {
  const auto source = Load(Write(FailedJob()));
  EXPECT_FALSE(source->alive());
  EXPECT_EQ(source->Job().StateName(), "FAILED");
  const auto last = static_cast<int64_t>(FailedJob().events().size());
  EXPECT_EQ(source->timeline().last_sequence, last);
  EXPECT_EQ(source->changes().tasks.size(), 4u);
  EXPECT_TRUE(source->recorded());
  EXPECT_FALSE(source->Refresh());
}

TEST_F(RecordedJobSourceTest, ALivingJobIsReadOn) {
  SampleEvents job = RunningJob();
  const storage::JobFolder folder = Write(job);
  const size_t before = job.events().size();
  const HeldLock lock(folder);
  const auto source = Load(folder);
  EXPECT_TRUE(source->alive());
  EXPECT_EQ(source->Job().StateName(), "RUNNING");
  EXPECT_FALSE(source->Refresh());

  job.AddTask("worker", 1, core::TaskState::kFailed);
  job.End(core::Outcome::kFailed, core::Reason::kTaskFailed, "worker:1 failed");
  const std::vector<core::JobEvent> events = job.events();
  AppendEvents(folder, {events.begin() + static_cast<ptrdiff_t>(before), events.end()});
  const int64_t version = source->changes().version;
  EXPECT_TRUE(source->Refresh());
  EXPECT_EQ(source->Job().StateName(), "FAILED");
  EXPECT_GT(source->changes().tasks.at({"worker", 1}).version, version);
  EXPECT_FALSE(source->alive());
}

/// An exit with a tail of some 150 KiB, as a long traceback and long lines give.
core::TaskExit LongExit() {
  core::TaskExit exit;
  exit.code = 1;
  exit.tail.assign(40, std::string(4096, '"'));
  return exit;
}

TEST_F(RecordedJobSourceTest, AnEventWithALongTailIsRead) {
  SampleEvents job = RunningJob();
  const storage::JobFolder folder = Write(job);
  const size_t before = job.events().size();
  const HeldLock lock(folder);
  const auto source = Load(folder);
  core::TaskChanged failed = job.Task("worker", 1, core::TaskState::kFailed);
  failed.exit = LongExit();
  job.Add(failed);
  job.Add(core::JobEnded{core::Verdict{core::Outcome::kFailed, core::Reason::kTaskFailed,
                                       "worker:1 failed", core::TaskId{"worker", 1}, LongExit()}});
  const std::vector<core::JobEvent> events = job.events();
  AppendEvents(folder, {events.begin() + static_cast<ptrdiff_t>(before), events.end()});
  EXPECT_TRUE(source->Refresh());
  EXPECT_EQ(source->Job().StateName(), "FAILED");
  EXPECT_EQ(source->stored().sentence, "");
  ASSERT_TRUE(source->Job().view.verdict->exit);
  EXPECT_EQ(source->Job().view.verdict->exit->tail.size(), 40u);
}

// What was missed while it was read on, such as lines that were written anew, is found at the end.
TEST_F(RecordedJobSourceTest, AJobThatLooksLostIsReadAsAWhole) {
  SampleEvents job = RunningJob();
  const storage::JobFolder folder = Write(job);
  const size_t before = job.events().size();
  std::unique_ptr<RecordedJobSource> source;
  {
    const HeldLock lock(folder);
    source = Load(folder);
    job.End(core::Outcome::kFailed, core::Reason::kTaskFailed, "worker:1 failed");
    // Bytes that were there already, as far as the reader knows, have become the end.
    const std::vector<core::JobEvent> events = job.events();
    std::string text;
    for (const core::JobEvent& event : events) {
      text += rpc::EventToJsonLine(event) + "\n";
    }
    const auto size = std::filesystem::file_size(folder.events());
    std::fstream file(folder.events(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string last = rpc::EventToJsonLine(events.back()) + "\n";
    ASSERT_LT(last.size(), size);
    std::string padded(size - last.size() - 1, ' ');
    file << padded << "\n" << last;
  }
  ASSERT_GT(before, 0u);
  EXPECT_TRUE(source->Refresh());
  EXPECT_EQ(source->Job().StateName(), "FAILED");
  EXPECT_FALSE(source->alive());
}

TEST_F(RecordedJobSourceTest, PipesInAJobsFolderBlockNobody) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", {});
  for (const std::string& path :
       {folder.events(), folder.usage(), folder.metrics(), folder.job_xml(), folder.am_lock()}) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
  }
  const auto source = Load(folder);
  EXPECT_EQ(source->Job().view.last_sequence, 0);
  EXPECT_TRUE(Events(*source, 0, 10).events.empty());
  EXPECT_FALSE(ReadMetrics(folder));
}

TEST_F(RecordedJobSourceTest, NewMeasurementsReplaceOldOnes) {
  const storage::JobFolder folder = Write(RunningJob());
  const HeldLock lock(folder);
  const auto source = Load(folder);
  for (const int64_t memory : {1000, 2000}) {
    core::TaskMeasured measured;
    measured.task = {"worker", 1};
    measured.attempt = 1;
    measured.usage.memory_bytes = memory;
    const core::JobEvent event{0, clock_.UnixMillis(), measured};
    ASSERT_TRUE(os::WriteFileAtomically(folder.usage(), rpc::EventToJsonLine(event) + "\n").ok());
    EXPECT_TRUE(source->Refresh()) << memory;
    EXPECT_FALSE(source->Refresh()) << memory;
  }
}

// A page begins at a place that an earlier one remembers, and is the same as without it.
TEST_F(RecordedJobSourceTest, PagesOfALongHistoryAreTheSameInAnyOrder) {
  SampleEvents job = RunningJob();
  for (int i = 0; i < 5000; ++i) job.AddTask("worker", 1, core::TaskState::kRunning);
  const auto source = Load(Write(job));
  const auto last = static_cast<int64_t>(job.events().size());
  for (int round = 0; round < 3; ++round) {
    for (const int64_t after : {int64_t{4500}, int64_t{0}, int64_t{999}, int64_t{1000},
                                int64_t{1001}, int64_t{3210}, last - 1, last}) {
      const web::EventPage page = Events(*source, after, 10);
      ASSERT_EQ(page.events.size(), static_cast<size_t>(std::min<int64_t>(10, last - after)));
      for (size_t i = 0; i < page.events.size(); ++i) {
        EXPECT_THAT(page.events[i], HasSubstr(absl::StrCat("\"sequence\":", after + 1 + i, ",")));
      }
    }
  }
}

// The wait that was filled in for one state must not stay in the next one.
TEST_F(RecordedJobSourceTest, AWaitGoesWithItsState) {
  SampleEvents job;
  job.Submit({{"worker", 1}});
  job.State(core::JobState::kAllocating);
  const storage::JobFolder folder = Write(job);
  const HeldLock lock(folder);
  const auto source = Load(folder);
  EXPECT_TRUE(source->Job().view.waiting);
  job.State(core::JobState::kRunning);
  job.AddTask("worker", 0, core::TaskState::kRunning);
  const std::vector<core::JobEvent> events = job.events();
  AppendEvents(folder, {events.end() - 2, events.end()});
  EXPECT_TRUE(source->Refresh());
  EXPECT_FALSE(source->Job().view.waiting);
}

TEST_F(RecordedJobSourceTest, AJobThatIsLostMeanwhileChanges) {
  const storage::JobFolder folder = Write(RunningJob());
  std::unique_ptr<RecordedJobSource> source;
  {
    const HeldLock lock(folder);
    source = Load(folder);
  }
  EXPECT_TRUE(source->Refresh());
  EXPECT_EQ(source->Job().StateName(), "LOST");
  EXPECT_FALSE(source->alive());
  EXPECT_FALSE(source->Refresh());
}

TEST_F(RecordedJobSourceTest, EventsComeInPagesAndDamagedOnesAreLeftOut) {
  const storage::JobFolder folder(storage::JobsFolder(local_.path()) + "/local-1");
  WriteJob(local_.path(), "local-1", {});
  const std::vector<core::JobEvent> events = FailedJob().events();
  AppendEvents(folder, {events[0], events[1]});
  std::ofstream(folder.events(), std::ios::app) << "{\"sequence\":\"3\",\n";
  AppendEvents(folder, {events.begin() + 3, events.end()});
  std::ofstream(folder.events(), std::ios::app) << "{\"sequence\":\"999\"";
  const auto source = Load(folder);
  const web::EventPage first = Events(*source, 0, 3);
  ASSERT_EQ(first.events.size(), 3u);
  EXPECT_THAT(first.events[2], HasSubstr("\"sequence\":4"));
  EXPECT_EQ(first.next, 4);
  const web::EventPage rest = Events(*source, 4, 1000);
  EXPECT_EQ(rest.events.size(), events.size() - 4);
  EXPECT_FALSE(rest.next);
}

TEST_F(RecordedJobSourceTest, SaysWhatCannotBeShown) {
  const storage::JobFolder none(local_ / "jobs/none");
  EXPECT_TRUE(absl::IsNotFound(RecordedJobSource::Load(none, "none", clock_).status()));
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", {});
  std::ofstream(folder.events())
      << "{\"sequence\":\"1\",\"submitted\":{\"job_id\":\"local-1\",\"schema_version\":99}}\n";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(RecordedJobSource::Load(folder, "local-1", clock_).status()));
}

TEST_F(RecordedJobSourceTest, MetricsThatCannotBeReadAreNone) {
  const storage::JobFolder folder = Write(FailedJob());
  EXPECT_FALSE(ReadMetrics(folder));
  std::ofstream(folder.metrics()) << "something else";
  EXPECT_FALSE(ReadMetrics(folder));
}

}  // namespace
}  // namespace tony::pagedata
