// The index: orders, filters and pages; and what is left when its process is killed or its file is
// another one than it should be.
#include "portal/index/job_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kHere[] = "/here";

ReadJob MakeJob(int number) {
  ReadJob read;
  history::JobEntry& entry = read.job.entry;
  entry.job_id = absl::StrCat("local-", number);
  entry.name = absl::StrCat("bert-", number % 7);
  entry.user = number % 3 == 0 ? "ann" : "bob";
  entry.queue = number % 2 == 0 ? "default" : "";
  entry.framework = number % 5 == 0 ? "pytorch" : "tensorflow";
  entry.state = number % 4 == 0 ? "FAILED" : "SUCCEEDED";
  entry.sentence = number % 4 == 0 ? "Worker:1 ran OUT of memory" : "";
  entry.submitted_millis = 1'700'000'000'000 + number / 2;  // pairs of the same time
  entry.gpus = number % 6;
  read.job.location = kHere;
  read.job.duration_millis = number * 37 % 101;
  read.mark = {number, 2, 3, 4};
  return read;
}

std::vector<ReadJob> MakeJobs(int count) {
  std::vector<ReadJob> jobs;
  for (int number = 0; number < count; ++number) jobs.push_back(MakeJob(number));
  std::shuffle(jobs.begin(), jobs.end(), std::mt19937(1));
  return jobs;
}

class JobIndexTest : public ::testing::Test {
 protected:
  std::unique_ptr<JobIndex> Open() {
    absl::StatusOr<std::unique_ptr<JobIndex>> index = JobIndex::Open(folder_.path());
    EXPECT_TRUE(index.ok()) << index.status();
    return *std::move(index);
  }
  std::unique_ptr<JobIndex> Filled(int count) {
    std::unique_ptr<JobIndex> index = Open();
    EXPECT_TRUE(index->Put(MakeJobs(count)).ok());
    EXPECT_TRUE(index->Publish().ok());
    return index;
  }
  static std::vector<std::string> Ids(const absl::StatusOr<JobPage>& page) {
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> ids;
    for (const IndexedJob& job : page->jobs) ids.push_back(job.entry.job_id);
    return ids;
  }
  static int64_t Jobs(JobIndex& index) { return index.Count()->jobs; }

  os::TemporaryFolder folder_;
};

/// The value by which `sort` orders, as a text that compares like it.
std::string ValueOf(const IndexedJob& job, const std::string& name) {
  const auto number = [](int64_t value) { return absl::StrFormat("%020d", value); };
  if (name == "submitted") return number(job.entry.submitted_millis);
  if (name == "duration") return number(job.duration_millis);
  if (name == "gpus") return number(job.entry.gpus);
  if (name == "name") return job.entry.name;
  if (name == "user") return job.entry.user;
  if (name == "state") return job.entry.state;
  if (name == "queue") return job.entry.queue;
  return job.entry.framework;
}

TEST_F(JobIndexTest, PagesOfEveryOrderHaveEachJobOnce) {
  const std::unique_ptr<JobIndex> index = Filled(100);
  for (const std::string& name : SortNames()) {
    for (const std::string& sort : {name, "-" + name}) {
      JobWish wish{.sort = sort, .limit = 7};
      std::vector<std::string> values;
      std::set<std::string> ids;
      do {
        const absl::StatusOr<JobPage> page = index->List(wish);
        ASSERT_TRUE(page.ok()) << page.status();
        for (const IndexedJob& job : page->jobs) {
          values.push_back(ValueOf(job, name));
          ids.insert(job.entry.job_id);
        }
        wish.cursor = page->next;
      } while (!wish.cursor.empty());
      EXPECT_EQ(values.size(), 100u) << sort;
      EXPECT_EQ(ids.size(), 100u) << sort;
      if (sort[0] == '-') std::reverse(values.begin(), values.end());
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << sort;
    }
  }
}

TEST_F(JobIndexTest, AJobThatComesBetweenTwoPagesMovesNothing) {
  const std::unique_ptr<JobIndex> index = Filled(10);
  const absl::StatusOr<JobPage> first = index->List({.limit = 4});
  ASSERT_TRUE(index->Put({MakeJob(1000)}).ok());
  const std::vector<std::string> second = Ids(index->List({.limit = 4, .cursor = first->next}));
  std::vector<std::string> both = Ids(first);
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(std::set<std::string>(both.begin(), both.end()).size(), 8u);
  EXPECT_THAT(both, ::testing::Not(::testing::Contains("local-1000")));
}

TEST_F(JobIndexTest, FiltersAndWords) {
  const std::unique_ptr<JobIndex> index = Filled(12);
  EXPECT_THAT(Ids(index->List({.states = {"FAILED"}, .user = "ann"})), ElementsAre("local-0"));
  EXPECT_THAT(Ids(index->List({.states = {"FAILED", "LOST"}})),
              UnorderedElementsAre("local-0", "local-4", "local-8"));
  EXPECT_THAT(Ids(index->List({.text = "out of  Worker:1 BOB"})),
              UnorderedElementsAre("local-4", "local-8"));
  EXPECT_THAT(Ids(index->List({.text = "memory bob", .sort = "-duration"})),
              ElementsAre("local-8", "local-4"));
  EXPECT_THAT(Ids(index->List({.states = {"FAILED"}, .text = "ann", .sort = "name"})),
              ElementsAre("local-0"));
  EXPECT_THAT(Ids(index->List({.text = "100%"})), IsEmpty());
  EXPECT_THAT(Ids(index->List({.name = "bert-6"})), ElementsAre("local-6"));
  EXPECT_THAT(Ids(index->List({.framework = "pytorch", .sort = "submitted"})),
              ElementsAre("local-0", "local-5", "local-10"));
  EXPECT_THAT(Ids(index->List({.since_millis = 1'700'000'000'005})),
              UnorderedElementsAre("local-10", "local-11"));
  EXPECT_THAT(Ids(index->List({.until_millis = 1'700'000'000'001})),
              UnorderedElementsAre("local-0", "local-1"));
  EXPECT_THAT(Ids(index->List({.alive = true})), IsEmpty());
  const absl::StatusOr<JobCounts> counts = index->Count();
  EXPECT_THAT(counts->states, ElementsAre(Pair("SUCCEEDED", 9), Pair("FAILED", 3)));
  EXPECT_THAT(counts->users, ElementsAre(Pair("bob", 8), Pair("ann", 4)));
}

TEST_F(JobIndexTest, RefusesACursorOfAnotherOrder) {
  const std::unique_ptr<JobIndex> index = Filled(10);
  const std::string next = index->List({.sort = "name", .limit = 2})->next;
  for (const std::string& cursor : {next, std::string("WzFd"), std::string("x")}) {
    const absl::Status status = index->List({.sort = "-duration", .cursor = cursor}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << cursor << status;
  }
}

TEST_F(JobIndexTest, AJobIsReplacedAndRemovedByItsPlace) {
  const std::unique_ptr<JobIndex> index = Filled(3);
  ReadJob changed = MakeJob(1);
  changed.job.entry.state = "KILLED";
  ReadJob elsewhere = MakeJob(1);
  elsewhere.job.location = "/there";
  ASSERT_TRUE(index->Put({changed, elsewhere}).ok());
  EXPECT_EQ(Jobs(*index), 4);
  EXPECT_EQ((*index->Find(kHere, "local-1"))->entry.state, "KILLED");
  EXPECT_EQ((*index->Find("/there", "local-1"))->entry, MakeJob(1).job.entry);
  ASSERT_TRUE(index->Remove({{kHere, "local-1"}}).ok());
  EXPECT_FALSE(index->Find(kHere, "local-1")->has_value());
  EXPECT_EQ(Jobs(*index), 3);
}

TEST_F(JobIndexTest, LastsOnceItIsPublished) {
  { (void)Filled(5); }
  const std::unique_ptr<JobIndex> index = Open();
  EXPECT_TRUE(index->complete());
  EXPECT_EQ(Jobs(*index), 5);
  EXPECT_EQ(index->KnownJobs()->at({kHere, "local-2"}).mark, (FileMark{2, 2, 3, 4}));
}

TEST_F(JobIndexTest, IsMadeAnewUnlessItWasPublished) {
  {
    const std::unique_ptr<JobIndex> index = Open();
    ASSERT_TRUE(index->Put(MakeJobs(5)).ok());
    EXPECT_EQ(Jobs(*index), 5) << "it can be read before it is complete";
  }
  EXPECT_EQ(Jobs(*Open()), 0);
}

TEST_F(JobIndexTest, IsMadeAnewForAnotherFormat) {
  { (void)Filled(5); }
  {
    absl::StatusOr<Database> database =
        Database::Open(folder_ / "index.db", Database::Mode::kWrite);
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 999").ok());
  }
  const std::unique_ptr<JobIndex> index = Open();
  EXPECT_FALSE(index->complete());
  EXPECT_EQ(Jobs(*index), 0);
  ASSERT_TRUE(index->Put(MakeJobs(2)).ok());
  ASSERT_TRUE(index->Publish().ok());
  EXPECT_EQ(Jobs(*index), 2);
}

TEST_F(JobIndexTest, IsMadeAnewWhenItsFileIsNoDatabase) {
  std::ofstream(folder_ / "index.db") << std::string(10'000, 'x');
  std::ofstream(folder_ / "index.db-wal") << std::string(10'000, 'y');
  const std::unique_ptr<JobIndex> index = Open();
  EXPECT_FALSE(index->complete());
  ASSERT_TRUE(index->Put(MakeJobs(3)).ok());
  ASSERT_TRUE(index->Publish().ok());
  EXPECT_EQ(Jobs(*Open()), 3);
}

TEST_F(JobIndexTest, BelongsToItsUserAlone) {
  const mode_t before = umask(0);
  { (void)Filled(1); }
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "index.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// The child writes batches until it is killed in the middle of one.
TEST_F(JobIndexTest, AKilledWriterLeavesWholeTransactions) {
  constexpr int kBatch = 50;
  { (void)Filled(0); }
  int64_t before = 0;
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::unique_ptr<JobIndex> index = JobIndex::Open(folder_.path()).value();
      for (int batch = 0;; ++batch) {
        std::vector<ReadJob> jobs;
        for (int i = 0; i < kBatch; ++i) {
          jobs.push_back(MakeJob(round * 1'000'000 + batch * kBatch + i));
        }
        if (!index->Put(jobs).ok()) _exit(1);
        if (write(pipe_ends[1], "b", 1) != 1) _exit(1);
      }
    }
    char byte = 0;
    for (int batch = 0; batch < 3 + round; ++batch) ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    const std::unique_ptr<JobIndex> index = Open();
    EXPECT_TRUE(index->complete());
    const int64_t jobs = Jobs(*index);
    EXPECT_EQ(jobs % kBatch, 0);
    EXPECT_GE(jobs - before, kBatch * (3 + round));
    before = jobs;
  }
}

}  // namespace
}  // namespace tony::portal
