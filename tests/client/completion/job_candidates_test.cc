// Jobs and tasks are offered from real job folders.
#include "client/completion/job_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_format.h"
#include "tests/client/job_folders.h"

namespace tony::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Words(const Candidates& candidates) {
  std::vector<std::string> words;
  for (const Candidate& candidate : candidates) words.push_back(candidate.word);
  return words;
}

/// A folder with a job that runs and one that is over.
class JobCandidatesTest : public ::testing::Test {
 protected:
  JobCandidatesTest()
      : over_(WriteJob(local_.path(), "local-20261126-090000-aaaa", RunningJob().events())),
        running_(WriteJob(local_.path(), "local-20261127-090000-bbbb", RunningJob().events())),
        lock_(running_) {}

  std::vector<std::string> Jobs(const std::string& word, JobChoice choice = JobChoice::kAll) {
    return Words(JobCandidates(local_.path(), word, choice));
  }
  static std::string over_id() { return "local-20261126-090000-aaaa"; }
  static std::string running_id() { return "local-20261127-090000-bbbb"; }
  std::vector<std::string> Tasks(const std::string& wish, const std::string& word,
                                 bool only_tasks = false) {
    return Words(TaskCandidates(local_.path(), wish, word, only_tasks));
  }

  TemporaryFolder local_;
  storage::JobFolder over_, running_;
  HeldLock lock_;
};

TEST_F(JobCandidatesTest, JobsComeNewestFirst) {
  EXPECT_THAT(Jobs(""), ElementsAre(running_id(), over_id(), "latest"));
  EXPECT_THAT(Jobs("local-2026112"), ElementsAre(running_id(), over_id()));
  EXPECT_THAT(Jobs("local-20261126"), ElementsAre(over_id()));
  EXPECT_THAT(Jobs("la"), ElementsAre("latest"));
  EXPECT_THAT(Jobs("x"), IsEmpty());
}

TEST_F(JobCandidatesTest, AJobIsFoundByItsEnd) {
  EXPECT_THAT(Jobs("aaaa"), ElementsAre(over_id()));
  EXPECT_THAT(Jobs("aaa"), ElementsAre(over_id()));
  WriteJob(local_.path(), "local-20261128-100000-aaaa", {});
  EXPECT_THAT(Jobs("aaaa"), IsEmpty());
}

TEST_F(JobCandidatesTest, AJobHasItsNameAndItsState) {
  const Candidates jobs = JobCandidates(local_.path(), "local", JobChoice::kAll);
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].meaning, "digits, running");
  EXPECT_EQ(jobs[1].meaning, "digits, over");
}

TEST_F(JobCandidatesTest, OnlyJobsThatMakeSenseAreOffered) {
  EXPECT_THAT(Jobs("local", JobChoice::kRunning), ElementsAre(running_id()));
  EXPECT_THAT(Jobs("local", JobChoice::kOver), ElementsAre(over_id()));
}

TEST_F(JobCandidatesTest, BadHistoriesAndStrangeFilesAreNoObstacle) {
  std::ofstream(over_.events()) << "\x1b[2J no event\n";
  std::ofstream(storage::JobsFolder(local_.path()) + "/local-file") << "x";
  std::filesystem::create_directory(storage::JobsFolder(local_.path()) + "/.local-made");
  std::filesystem::create_directory(storage::JobsFolder(local_.path()) + "/local-$(reboot)");
  EXPECT_EQ(JobCandidates(local_.path(), over_id(), JobChoice::kAll)[0].meaning, "over");
  EXPECT_THAT(Jobs("local"), ElementsAre(running_id(), over_id()));
  EXPECT_THAT(Tasks(over_id(), ""), ElementsAre("am"));
}

TEST_F(JobCandidatesTest, NoFolderMeansNoCandidates) {
  EXPECT_THAT(JobCandidates(local_ / "none", "", JobChoice::kAll), IsEmpty());
  EXPECT_THAT(JobCandidates("", "", JobChoice::kAll), IsEmpty());
  EXPECT_THAT(TaskCandidates(local_ / "none", "", "", false), IsEmpty());
}

TEST_F(JobCandidatesTest, ThousandsOfJobsAreCut) {
  for (size_t number = 0; number < kMostJobs + 50; ++number) {
    WriteJob(local_.path(), absl::StrFormat("local-20250101-000000-%04x", number), {});
  }
  EXPECT_THAT(Jobs("local"), SizeIs(kMostJobs));
  EXPECT_EQ(Jobs("local")[0], running_id());
}

TEST_F(JobCandidatesTest, TasksAreThoseOfTheJob) {
  EXPECT_THAT(Tasks("", ""), ElementsAre("am", "chief", "chief:0", "ps", "ps:0", "worker",
                                         "worker:0", "worker:1"));
  EXPECT_THAT(Tasks("aaaa", "worker:"), ElementsAre("worker:0", "worker:1"));
  EXPECT_THAT(Tasks("latest", "p", /*only_tasks=*/true), ElementsAre("ps:0"));
  EXPECT_THAT(Tasks("nobody", ""), IsEmpty());
}

TEST_F(JobCandidatesTest, TasksThatCameLaterAreKnownByTheirLogs) {
  std::filesystem::create_directories(running_.task_logs({"worker", 7}));
  std::filesystem::create_directories(running_.logs() + "/my-type-3");
  std::filesystem::create_directories(running_.logs() + "/strange");
  EXPECT_THAT(Tasks("", "worker:"), ElementsAre("worker:0", "worker:1", "worker:7"));
  EXPECT_THAT(Tasks("", "my"), ElementsAre("my-type", "my-type:3"));
}

TEST_F(JobCandidatesTest, ManyTasksWaitForTheColon) {
  SampleEvents job;
  job.Submit({{"worker", 500}});
  WriteJob(local_.path(), "local-20261128-000000-cccc", job.events());
  EXPECT_THAT(Tasks("", ""), ElementsAre("am", "worker"));
  EXPECT_THAT(Tasks("", "worker:49"), SizeIs(11));
}

}  // namespace
}  // namespace tony::client
