// The index follows real job folders: as they grow, end, are lost, cut off or removed.
#include "portal/index/indexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "history/job_entry.h"
#include "tests/client/job_folders.h"

namespace tony::portal {
namespace {

using client::AppendEvents;
using client::FailedJob;
using client::HeldLock;
using client::RunningJob;
using client::SampleEvents;
using client::WriteJob;
using ::testing::HasSubstr;

SampleEvents Submitted() {
  SampleEvents job;
  job.Submit({{"worker", 2, true, 1024, 1, 4}});
  return job;
}

std::vector<core::JobEvent> Since(const SampleEvents& job, size_t first) {
  const std::vector<core::JobEvent> events = job.events();
  return {events.begin() + static_cast<ptrdiff_t>(first), events.end()};
}

/// Writes the summary that an ApplicationMaster would.
void WriteSummary(const storage::JobFolder& folder, const std::string& id, int advice) {
  core::ObservedJob job;
  for (const core::JobEvent& event : FailedJob().events()) job.Apply(event);
  history::JobEntry entry = history::EntryOf(job, {"blue", "nightly,big", "0123"});
  entry.job_id = id;
  entry.advice = advice;
  entry.events_bytes = static_cast<int64_t>(std::filesystem::file_size(folder.events()));
  std::ofstream(folder.summary()) << history::EntryToJson(entry);
}

class IndexerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    index_ = JobIndex::Open(index_folder_.path()).value();
    indexer_.emplace(std::vector<std::string>{local_.path()}, *index_, clock_);
  }
  bool Round() {
    const absl::StatusOr<bool> changed = indexer_->Round(stop_);
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.ok() && *changed;
  }
  IndexedJob Job(const std::string& id) {
    const auto job = index_->Find(local_.path(), id);
    EXPECT_TRUE(job.ok() && job->has_value()) << id;
    return job.ok() ? job->value_or(IndexedJob{}) : IndexedJob{};
  }
  int64_t Jobs() { return index_->Count()->jobs; }
  /// As the next portal finds it.
  void Reopen() {
    indexer_.reset();
    index_.reset();
    index_ = JobIndex::Open(index_folder_.path()).value();
    indexer_.emplace(std::vector<std::string>{local_.path()}, *index_, clock_);
  }
  /// Overwrites the first page of `tree`, a table or an index, between two portals.
  void Damage(const std::string& tree) {
    indexer_.reset();
    index_.reset();
    const std::string path = index_folder_ / "index.db";
    int64_t page = 0;
    int64_t size = 0;
    {
      Database database = Database::Open(path, Database::Mode::kWrite).value();
      page =
          database.Ask(absl::StrCat("SELECT rootpage FROM sqlite_master WHERE name = '", tree, "'"))
              .value();
      size = database.Ask("PRAGMA page_size").value();
    }
    ASSERT_GT(page, 1);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * size);
    file << std::string(static_cast<size_t>(size), '\xff');
    file.close();
    Reopen();
  }

  os::TemporaryFolder local_, index_folder_;
  FakeClock clock_;
  std::unique_ptr<JobIndex> index_;
  std::optional<Indexer> indexer_;
  std::atomic<bool> stop_ = false;
};

TEST_F(IndexerTest, ALocationWithoutJobsIsComplete) {
  EXPECT_FALSE(Round());
  EXPECT_TRUE(indexer_->progress().complete);
  EXPECT_TRUE(index_->complete());
}

TEST_F(IndexerTest, AnEventWithALongTailIsRead) {
  SampleEvents events = RunningJob();
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", events.events());
  const HeldLock lock(folder);
  EXPECT_TRUE(Round());
  const size_t before = events.events().size();
  core::TaskExit exit;
  exit.tail.assign(40, std::string(4096, '"'));
  events.Add(core::JobEnded{core::Verdict{core::Outcome::kFailed, core::Reason::kTaskFailed,
                                          "worker:1 failed", core::TaskId{"worker", 1}, exit}});
  AppendEvents(folder, Since(events, before));
  EXPECT_TRUE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "FAILED");
  EXPECT_EQ(Job("local-1").trouble, "");
}

TEST_F(IndexerTest, AFolderOfJobsThatOthersWriteToIsNotRead) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  std::filesystem::permissions(storage::JobsFolder(local_.path()), std::filesystem::perms(0777));
  (void)Round();
  EXPECT_EQ(Jobs(), 0);
  EXPECT_THAT(indexer_->progress().trouble, HasSubstr(storage::JobsFolder(local_.path())));
  std::filesystem::permissions(storage::JobsFolder(local_.path()), std::filesystem::perms(0700));
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 1);
  EXPECT_EQ(indexer_->progress().trouble, "");
}

TEST_F(IndexerTest, AJobThatOthersWriteToIsNotRead) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", FailedJob().events());
  std::filesystem::permissions(folder.root(), std::filesystem::perms(0777));
  EXPECT_TRUE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "");
  EXPECT_THAT(Job("local-1").trouble, HasSubstr(folder.root()));
}

TEST_F(IndexerTest, PipesInAJobsFolderBlockNobody) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", {});
  for (const std::string& path :
       {folder.events(), folder.summary(), folder.usage(), folder.job_xml(), folder.am_lock()}) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
  }
  EXPECT_TRUE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "LOST");
}

TEST_F(IndexerTest, ADamagedTableIsMadeAnew) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  Damage("job");
  EXPECT_TRUE(absl::IsDataLoss(indexer_->Round(stop_).status()));
  EXPECT_THAT(indexer_->progress().trouble, HasSubstr("SQLite"));
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 1);
  EXPECT_EQ(indexer_->progress().trouble, "");
  EXPECT_TRUE(index_->complete());
}

TEST_F(IndexerTest, DamageThatOnlyAReaderMeetsIsMadeGood) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  Damage("by_name");
  EXPECT_FALSE(Round());
  EXPECT_TRUE(absl::IsDataLoss(index_->List({.sort = "name"}).status()));
  EXPECT_TRUE(Round());
  EXPECT_EQ(index_->List({.sort = "name"})->jobs.size(), 1u);
}

TEST_F(IndexerTest, ANewIndexIsTriedForUntilThereIsRoom) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  Damage("job");
  EXPECT_FALSE(indexer_->Round(stop_).ok());
  const std::string in_the_way = index_folder_ / "index.db.new";
  std::filesystem::create_directory(in_the_way);
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(indexer_->Round(stop_).ok());
    EXPECT_THAT(indexer_->progress().trouble, HasSubstr("index.db.new"));
  }
  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 1);
}

TEST_F(IndexerTest, JobsOutOfReachAreKept) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", RunningJob().events());
  const HeldLock lock(folder);
  (void)Round();
  const std::string away = local_.path() + "-away";
  std::filesystem::rename(local_.path(), away);
  EXPECT_FALSE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
  // The next portal has never seen them.
  Reopen();
  EXPECT_FALSE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
  EXPECT_THAT(indexer_->progress().trouble, HasSubstr(local_.path()));
  std::filesystem::rename(away, local_.path());
  (void)Round();
  EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
  EXPECT_EQ(indexer_->progress().trouble, "");
  std::filesystem::remove_all(storage::JobsFolder(local_.path()));
  EXPECT_TRUE(Round()) << "these were removed";
  EXPECT_EQ(Jobs(), 0);
}

// Listing a folder of many jobs each second would cost more than all the rest.
TEST_F(IndexerTest, AFolderThatHasNotChangedIsNotListed) {
  const std::string jobs = storage::JobsFolder(local_.path());
  WriteJob(local_.path(), "local-1", FailedJob().events());
  const auto wall = std::filesystem::file_time_type::clock::now();
  clock_.SetWallClock(std::chrono::system_clock::now().time_since_epoch() -
                      std::chrono::milliseconds(clock_.UnixMillis()));
  const auto old = wall - std::chrono::minutes(1);
  std::filesystem::last_write_time(jobs, old);
  (void)Round();
  WriteJob(local_.path(), "local-2", FailedJob().events());
  std::filesystem::last_write_time(jobs, old);
  EXPECT_FALSE(Round());
  EXPECT_EQ(Jobs(), 1) << "it was listed, though its time is the same";
  std::filesystem::last_write_time(jobs, old + std::chrono::seconds(1));
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 2);
}

TEST_F(IndexerTest, FollowsAJobFromItsStartToItsEnd) {
  SampleEvents events = Submitted();
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", events.events());
  {
    const HeldLock lock(folder);
    EXPECT_TRUE(Round());
    IndexedJob job = Job("local-1");
    EXPECT_EQ(job.entry.state, "NEW");
    EXPECT_TRUE(job.alive);
    EXPECT_EQ(job.entry.gpus, 8);
    EXPECT_EQ(job.entry.memory_mb, 2048);
    EXPECT_EQ(job.duration_millis, -1);
    EXPECT_FALSE(Round()) << "nothing has happened";

    events.State(core::JobState::kRunning);
    AppendEvents(folder, Since(events, 1));
    EXPECT_TRUE(Round());
    EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
    events.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "all done");
    AppendEvents(folder, Since(events, 2));
    EXPECT_TRUE(Round());
  }
  EXPECT_TRUE(Round()) << "its ApplicationMaster has gone";
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.state, "SUCCEEDED");
  EXPECT_EQ(job.entry.sentence, "all done");
  EXPECT_FALSE(job.alive);
  EXPECT_EQ(job.duration_millis, 2000);
  EXPECT_FALSE(Round());
}

TEST_F(IndexerTest, ALineThatIsBeingWrittenWaitsForItsRest) {
  SampleEvents events = Submitted();
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", events.events());
  const HeldLock lock(folder);
  EXPECT_TRUE(Round());
  events.State(core::JobState::kRunning);
  const std::string line = rpc::EventToJsonLine(events.events().back()) + "\n";
  std::ofstream(folder.events(), std::ios::app) << line.substr(0, 20);
  (void)Round();
  EXPECT_EQ(Job("local-1").entry.state, "NEW");
  std::ofstream(folder.events(), std::ios::app) << line.substr(20);
  EXPECT_TRUE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
}

TEST_F(IndexerTest, AJobWhoseLockNobodyHoldsIsLost) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", RunningJob().events());
  {
    const HeldLock lock(folder);
    (void)Round();
    EXPECT_EQ(Job("local-1").entry.state, "RUNNING");
  }
  EXPECT_TRUE(Round());
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.state, "LOST");
  EXPECT_THAT(job.entry.sentence, HasSubstr("tony logs local-1 am"));
  EXPECT_FALSE(job.alive);
  EXPECT_GT(job.duration_millis, 0);
}

TEST_F(IndexerTest, AHistoryThatIsCutOffIsListedWithWhatItHas) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", FailedJob().events());
  const auto bytes = std::filesystem::file_size(folder.events());
  std::filesystem::resize_file(folder.events(), bytes - 30);
  EXPECT_TRUE(Round());
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.state, "LOST");
  EXPECT_EQ(job.entry.name, "digits");
  EXPECT_THAT(job.trouble, HasSubstr("the last line of its history is cut off"));
}

TEST_F(IndexerTest, ADamagedLineIsNamed) {
  const storage::JobFolder folder(storage::JobsFolder(local_.path()) + "/local-1");
  WriteJob(local_.path(), "local-1", {});
  const std::vector<core::JobEvent> events = FailedJob().events();
  AppendEvents(folder, {events[0]});
  std::ofstream(folder.events(), std::ios::app) << "{\"sequence\":\"2\",\n";
  AppendEvents(folder, {events.begin() + 2, events.end()});
  EXPECT_TRUE(Round());
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.state, "FAILED");
  EXPECT_THAT(job.trouble, HasSubstr("events.jsonl:2 cannot be read"));
}

TEST_F(IndexerTest, AJobOfANewerVersionIsListedWithWhatCanBeRead) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", {});
  std::ofstream(folder.events())
      << R"({"sequence":"1","unix_millis":"1700000000000","submitted":{"job_id":"local-1",)"
      << R"("name":"future","user":"ann","framework":"quantum","schema_version":99,)"
      << R"("types":[{"name":"worker","instances":3,"gpus":2}]}})"
      << "\n{\"sequence\":\"2\",\"unheard_of\":{}}\n";
  EXPECT_TRUE(Round());
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.state, "UNREADABLE");
  EXPECT_EQ(job.entry.name, "future");
  EXPECT_EQ(job.entry.framework, "quantum");
  EXPECT_EQ(job.entry.tasks, 3);
  EXPECT_EQ(job.entry.gpus, 6);
  EXPECT_EQ(job.entry.schema_version, 99);
  EXPECT_EQ(job.entry.submitted_millis, 1'700'000'000'000);
  EXPECT_FALSE(job.entry.sentence.empty());
}

TEST_F(IndexerTest, ASummaryIsTakenForTheHistory) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", FailedJob().events());
  WriteSummary(folder, "local-1", 7);
  EXPECT_TRUE(Round());
  const IndexedJob job = Job("local-1");
  EXPECT_EQ(job.entry.advice, 7);
  EXPECT_EQ(job.entry.queue, "blue");
  EXPECT_EQ(job.entry.tags, "nightly,big");
  EXPECT_EQ(job.entry.guilty, "worker:1");
  EXPECT_EQ(job.entry.exit_code, 1);
}

TEST_F(IndexerTest, ASummaryOfAnotherHistoryIsNot) {
  for (const char* const id : {"local-1", "local-2", "local-3"}) {
    WriteSummary(WriteJob(local_.path(), id, FailedJob().events()), "local-1", 7);
  }
  const storage::JobFolder longer(storage::JobsFolder(local_.path()) + "/local-1");
  std::ofstream(longer.events(), std::ios::app) << "x\n";
  const storage::JobFolder broken(storage::JobsFolder(local_.path()) + "/local-3");
  std::ofstream(broken.summary()) << "{\"job_id\":";
  EXPECT_TRUE(Round());
  for (const char* const id : {"local-1", "local-2", "local-3"}) {
    EXPECT_EQ(Job(id).entry.advice, 0) << id;
    EXPECT_EQ(Job(id).entry.state, "FAILED") << id;
  }
}

TEST_F(IndexerTest, JobsComeAndGo) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  WriteJob(local_.path(), "local-2", FailedJob().events());
  WriteJob(local_.path(), ".local-3", FailedJob().events());
  std::ofstream(storage::JobsFolder(local_.path()) + "/notes.txt") << "no job";
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 2);
  std::filesystem::remove_all(storage::JobsFolder(local_.path()) + "/local-1");
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 1);
  EXPECT_EQ(Job("local-2").entry.state, "FAILED");
}

TEST_F(IndexerTest, AnotherHistoryInAnOldJobsPlaceIsNoticedByASweep) {
  const storage::JobFolder folder = WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  std::filesystem::remove(folder.events());
  SampleEvents other = Submitted();
  other.End(core::Outcome::kKilled, core::Reason::kKilledByUser, "enough");
  AppendEvents(folder, other.events());
  clock_.Advance(Indexer::kSweepPause);
  EXPECT_TRUE(Round());
  EXPECT_EQ(Job("local-1").entry.state, "KILLED");
}

TEST_F(IndexerTest, TheNextPortalReadsOnlyWhatHasChanged) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  Reopen();
  EXPECT_FALSE(Round());
  WriteJob(local_.path(), "local-2", FailedJob().events());
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 2);
}

TEST_F(IndexerTest, ALocationThatIsNotAskedForAnyMoreIsForgotten) {
  WriteJob(local_.path(), "local-1", FailedJob().events());
  (void)Round();
  os::TemporaryFolder other;
  WriteJob(other.path(), "local-9", FailedJob().events());
  indexer_.emplace(std::vector<std::string>{other.path()}, *index_, clock_);
  EXPECT_TRUE(Round());
  EXPECT_EQ(Jobs(), 1);
  EXPECT_EQ((*index_->Find(other.path(), "local-9"))->entry.state, "FAILED");
}

// More living jobs than are read on: the others are read from their starts, with the same result.
TEST_F(IndexerTest, ManyLivingJobsAreFollowed) {
  constexpr int kJobs = static_cast<int>(JobReader::kMostTracked) + 10;
  SampleEvents events = Submitted();
  std::vector<std::unique_ptr<HeldLock>> locks;
  for (int i = 0; i < kJobs; ++i) {
    const auto folder = WriteJob(local_.path(), absl::StrCat("local-", i), events.events());
    locks.push_back(std::make_unique<HeldLock>(folder));
  }
  EXPECT_TRUE(Round());
  events.State(core::JobState::kRunning);
  for (int i = 0; i < kJobs; ++i) {
    AppendEvents(storage::JobFolder(absl::StrCat(storage::JobsFolder(local_.path()), "/local-", i)),
                 Since(events, 1));
  }
  EXPECT_TRUE(Round());
  EXPECT_EQ(index_->List({.states = {"RUNNING"}, .limit = 500})->jobs.size(), size_t{kJobs});
}

}  // namespace
}  // namespace tony::portal
