// A job's entry, through its file and back.
#include "history/job_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/client/sample_events.h"

namespace tony::history {
namespace {

core::ObservedJob Observed(const client::SampleEvents& events) {
  core::ObservedJob job;
  for (const core::JobEvent& event : events.events()) job.Apply(event);
  return job;
}

TEST(JobEntry, SumsUpAJob) {
  const JobEntry entry = EntryOf(Observed(client::FailedJob()), {"blue", "a,b", "0123"});
  EXPECT_EQ(entry.name, "digits");
  EXPECT_EQ(entry.state, "FAILED");
  EXPECT_EQ(entry.reason, "TASK_FAILED");
  EXPECT_EQ(entry.guilty, "worker:1");
  EXPECT_EQ(entry.exit_code, 1);
  EXPECT_EQ(entry.tasks, 4);
  EXPECT_EQ(entry.epochs, 1);
  EXPECT_EQ(entry.submitted_millis, client::SampleEvents::kStart);
  EXPECT_GT(entry.started_millis, entry.submitted_millis);
  EXPECT_GT(entry.ended_millis, entry.started_millis);
}

TEST(JobEntry, ComesBackFromItsFileUnchanged) {
  JobEntry entry = EntryOf(Observed(client::FailedJob()), {"blue", "a,b", "0123"});
  entry.advice = 3;
  entry.events_bytes = 1 << 20;
  EXPECT_EQ(*EntryFromJson(EntryToJson(entry)), entry);
}

TEST(JobEntry, LongTextsAreCutBetweenCharacters) {
  core::ObservedJob job = Observed(client::RunningJob());
  job.view.job.name = std::string(kMostEntryText - 1, 'x') + "ü";
  const JobEntry entry = EntryOf(job, {});
  EXPECT_EQ(entry.name, std::string(kMostEntryText - 1, 'x'));
  EXPECT_EQ(*EntryFromJson(EntryToJson(entry)), entry);
}

TEST(JobEntry, AJobThatAsksForTooMuchDoesNotOverflow) {
  core::ObservedJob job;
  job.view.job.types.assign(
      1000, {"worker", std::numeric_limits<int>::max(), true, std::numeric_limits<int64_t>::max(),
             1, std::numeric_limits<int>::max()});
  const JobEntry entry = EntryOf(job, {});
  EXPECT_EQ(entry.tasks, 1'000'000'000);
  EXPECT_EQ(entry.gpus, 1'000'000'000'000'000);
  EXPECT_EQ(entry.memory_mb, 1'000'000'000'000'000);
}

TEST(JobEntry, WhatANewerVersionAddsIsLeftOut) {
  const absl::StatusOr<JobEntry> entry =
      EntryFromJson(R"({"schema_version":9,"job_id":"a","mood":"good","gpus":4})");
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->job_id, "a");
  EXPECT_EQ(entry->gpus, 4);
  EXPECT_EQ(entry->schema_version, 9);
}

TEST(JobEntry, WhatIsNoEntryIsRefused) {
  for (const char* const text : {"", "[]", "7", "{", R"({"gpus":"many"})", R"({"name":7})",
                                 R"({"exit_code":99999999999})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(EntryFromJson(text).status())) << text;
  }
}

TEST(JobEntry, OfANewerJobTakesWhatIsThere) {
  EXPECT_EQ(EntryOfNewer("garbage"), JobEntry{});
  EXPECT_EQ(EntryOfNewer(R"({"submitted":[]})"), JobEntry{});
  const JobEntry entry = EntryOfNewer(
      R"({"unix_millis":"5","submitted":{"name":"n","user":7,"types":[1,{"instances":"2"}]}})");
  EXPECT_EQ(entry.name, "n");
  EXPECT_EQ(entry.user, "");
  EXPECT_EQ(entry.tasks, 2);
  EXPECT_EQ(entry.submitted_millis, 5);
}

}  // namespace
}  // namespace tony::history
