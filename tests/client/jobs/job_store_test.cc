// Job folders as running, ended, crashed and half written jobs leave them.
#include "client/jobs/job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "storage/job_liveness.h"
#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Ids(const std::vector<StoredJob>& jobs) {
  std::vector<std::string> ids;
  for (const StoredJob& job : jobs) ids.push_back(job.id);
  return ids;
}

TEST(JobStore, IsEmptyWithoutAFolder) {
  const JobStore store(TemporaryFolder().path() + "/none");
  ASSERT_TRUE(store.List().ok());
  EXPECT_TRUE(store.List()->empty());
  EXPECT_EQ(store.Find("").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(store.Find("latest").status().message()), HasSubstr("there are no jobs"));
}

TEST(JobStore, SaysThatTheFolderOfJobsCannotBeRead) {
  TemporaryFolder local;
  std::ofstream(storage::JobsFolder(local.path())) << "a file";
  const JobStore store(local.path());
  for (const absl::Status& status : {store.List().status(), store.Find("latest").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("cannot read " + storage::JobsFolder(local.path())));
  }
}

TEST(JobStore, ReadsAnEndedJob) {
  TemporaryFolder local;
  WriteJob(local.path(), "job-a", FailedJob().events());
  const absl::StatusOr<StoredJob> job = JobStore(local.path()).Find("job-a");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->ended());
  EXPECT_FALSE(job->alive);
  EXPECT_FALSE(job->job.lost);
  EXPECT_EQ(job->sentence, "");
  EXPECT_EQ(job->job.StateName(), "FAILED");
  EXPECT_EQ(job->submitted_millis, SampleEvents::kStart);
  EXPECT_EQ(job->job.view.tasks.size(), 4u);
  EXPECT_EQ(job->job.view.verdict->exit->code, 3);
}

TEST(JobStore, ShowsAJobWithoutVerdictAndWithAFreeLockAsLost) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", RunningJob().events());
  JobStore store(local.path());
  {
    const HeldLock lock(folder);
    const absl::StatusOr<StoredJob> job = store.Find("job-a");
    EXPECT_TRUE(job->alive);
    EXPECT_FALSE(job->job.lost);
    EXPECT_EQ(job->job.StateName(), "RUNNING");
  }
  const absl::StatusOr<StoredJob> job = store.Find("job-a");
  EXPECT_FALSE(job->alive);
  EXPECT_TRUE(job->job.lost);
  EXPECT_EQ(job->job.StateName(), "LOST");
  EXPECT_THAT(job->sentence,
              HasSubstr("went away without a verdict; its last words: tony logs job-a am"));
}

TEST(JobStore, AskingDoesNotKeepTheLock) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", {});
  std::ofstream(folder.am_lock()).close();
  EXPECT_FALSE(storage::IsAlive(folder));
  const HeldLock lock(folder);
  EXPECT_TRUE(storage::IsAlive(folder));
}

TEST(JobStore, ToleratesAnIncompleteLastLine) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", RunningJob().events());
  std::ofstream(folder.events(), std::ios::app) << "{\"sequence\": \"99\", \"not";
  JobStore store(local.path());
  const HeldLock lock(folder);
  EXPECT_EQ(store.Find("job-a")->sentence, "");
  EXPECT_EQ(store.Find("job-a")->job.view.state, core::JobState::kRunning);
}

TEST(JobStore, AJobWithoutEventsIsNewWhileItsClientLives) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", {});
  const JobStore store(local.path());
  {
    const HeldGuard client(folder);
    EXPECT_EQ(store.Find("job-a")->job.StateName(), "NEW");
    EXPECT_THAT(store.Find("job-a")->job.view.waiting->what, HasSubstr("ApplicationMaster starts"));
  }
  EXPECT_EQ(store.Find("job-a")->job.StateName(), "LOST");
  EXPECT_THAT(store.Find("job-a")->sentence, HasSubstr("was gone before"));
  logs::AppendLog(folder.am_log(), "it cannot read its job\n");
  EXPECT_THAT(store.Find("job-a")->sentence, HasSubstr("tony logs job-a am"));
}

TEST(JobStore, LeavesDamagedLinesOutAndSaysSo) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", {});
  std::vector<core::JobEvent> events = FailedJob().events();
  const core::JobEvent last = events.back();
  events.pop_back();
  AppendEvents(folder, events);
  std::ofstream(folder.events(), std::ios::app) << "garbage\n";
  AppendEvents(folder, {last});
  const absl::StatusOr<StoredJob> job = JobStore(local.path()).Find("job-a");
  EXPECT_TRUE(job->ended());
  EXPECT_THAT(job->sentence, HasSubstr("events.jsonl:" + std::to_string(events.size() + 1)));
}

TEST(JobStore, ShowsTheNewestMeasurementOfEachRunThatGoesOn) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", RunningJob().events());
  const JobStore store(local.path());
  const HeldLock lock(folder);
  const core::TaskChanged task = store.Find("job-a")->job.view.FindTask({"worker", 0})->last;
  ASSERT_EQ(task.state, core::TaskState::kRunning);
  core::TaskMeasured measured{task.task, {}, task.attempt};
  measured.usage.max_memory_bytes = 7;
  core::TaskMeasured earlier = measured;
  --earlier.attempt;
  earlier.usage.max_memory_bytes = 99;
  {
    std::ofstream file(folder.usage());
    for (const core::TaskMeasured& each : {measured, earlier}) {
      file << rpc::EventToJsonLine({0, 5, each}) << "\n";
    }
    file << "garbage\n";
  }
  const absl::StatusOr<StoredJob> job = store.Find("job-a");
  EXPECT_EQ(job->job.view.FindTask({"worker", 0})->usage, measured.usage);
  EXPECT_FALSE(job->job.view.FindTask({"worker", 1})->usage);
  EXPECT_EQ(job->sentence, "");
}

TEST(JobStore, AnOldHistoryWithAMillionMeasurementsHasTheLastOfEachTask) {
  TemporaryFolder local;
  const storage::JobFolder folder = WriteJob(local.path(), "job-a", RunningJob().events());
  const int64_t first = static_cast<int64_t>(RunningJob().events().size()) + 1;
  {
    std::ofstream file(folder.events(), std::ios::app);
    for (int64_t i = 0; i < 1'000'000; ++i) {
      file << "{\"sequence\":\"" << first + i
           << "\",\"unix_millis\":\"5\",\"task_measured\":{\"task\":{\"type\":\"worker\"},"
              "\"usage\":{\"cpu_seconds\":0.5,\"memory_bytes\":\""
           << i << "\",\"processes\":1,\"gpu_utilization\":-1,\"gpu_memory_bytes\":\"-1\"}}}\n";
    }
  }
  const absl::StatusOr<StoredJob> job = JobStore(local.path()).Find("job-a");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job.view.last_sequence, first + 999'999);
  EXPECT_EQ(job->job.view.FindTask({"worker", 0})->usage->memory_bytes, 999'999);
}

TEST(JobStore, SaysWhatAnyJobThatLivesWaitsFor) {
  TemporaryFolder local;
  const storage::JobFolder running = WriteJob(local.path(), "running", RunningJob().events());
  SampleEvents start = RunningJob();
  start.AddTask("worker", 1, core::TaskState::kReady);
  const storage::JobFolder starting = WriteJob(local.path(), "starting", start.events());
  const storage::JobFolder restarted = WriteJob(local.path(), "restarted", RunningJob().events());
  WriteJob(local.path(), "lost", RunningJob().events());
  WriteJob(local.path(), "ended", FailedJob().events());
  const storage::JobFolder staged = WriteJob(local.path(), "staged", {});
  const HeldLock lock(running);
  const HeldLock other_lock(starting);
  const os::UniqueFd staging = os::LockFile(staged.am_guard()).value();
  const os::UniqueFd guard = os::LockFile(restarted.am_guard()).value();
  JobStore store(local.path());
  const std::map<std::string, std::string> words = {
      {"starting", "tasks start"}, {"restarted", "was lost"}, {"staged", "staged"}};
  for (const auto& [id, part] : words) {
    const core::JobView view = store.Find(id)->job.view;
    ASSERT_TRUE(view.waiting.has_value()) << id;
    EXPECT_THAT(view.waiting->what, HasSubstr(part));
    EXPECT_FALSE(view.waiting->missing.empty()) << id;
    EXPECT_FALSE(view.waiting->unblock.empty()) << id;
    EXPECT_GT(view.waiting_since_millis, 0) << id;
  }
  for (const char* id : {"running", "lost", "ended"}) {
    EXPECT_FALSE(store.Find(id)->job.view.waiting) << id;
  }
  EXPECT_TRUE(store.Find("running")->job.view.visualization);
  EXPECT_FALSE(store.Find("lost")->job.view.visualization);
}

TEST(JobStore, FindsByPrefixSuffixAndLatest) {
  TemporaryFolder local;
  for (int number : {1, 3, 2}) {
    std::vector<core::JobEvent> events = FailedJob().events();
    for (core::JobEvent& event : events) event.unix_millis += number * 1000;
    WriteJob(local.path(), "job-" + std::to_string(number) + "x" + std::to_string(number * 11),
             events);
  }
  std::ofstream(storage::JobsFolder(local.path()) + "/stray-file") << "x";
  JobStore store(local.path());
  EXPECT_THAT(Ids(*store.List()), ::testing::ElementsAre("job-3x33", "job-2x22", "job-1x11"));
  EXPECT_EQ(store.Find("")->id, "job-3x33");
  EXPECT_EQ(store.Find("latest")->id, "job-3x33");
  EXPECT_EQ(store.Find("22")->id, "job-2x22");
  EXPECT_EQ(store.Find("job-1")->id, "job-1x11");
  const absl::Status ambiguous = store.Find("job").status();
  EXPECT_EQ(ambiguous.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ambiguous.message()), HasSubstr("job-3x33, job-2x22, job-1x11"));
  const absl::Status none = store.Find("../job-1x11").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr("known jobs: job-3x33, job-2x22, job-1x11"));
}

}  // namespace
}  // namespace tony::client
