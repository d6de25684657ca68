// Jobs in a folder like a cluster's, copied while they run, end, are killed or removed.
#include "portal/mirror/job_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stop_token>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "history/job_entry.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "portal/index/indexer.h"
#include "rpc/convert/event_json.h"
#include "storage/job_liveness.h"
#include "storage/local_job_files.h"
#include "tests/client/sample_events.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using client::FailedJob;
using client::RunningJob;
using client::SampleEvents;
using ::testing::UnorderedElementsAre;

constexpr char kJob[] = "application_1700000000000_0001";
constexpr char kNewer[] = "application_1700000000000_0002";

std::string LinesOf(const std::vector<core::JobEvent>& events) {
  std::string lines;
  for (const core::JobEvent& event : events) {
    absl::StrAppend(&lines, rpc::EventToJsonLine(event), "\n");
  }
  return lines;
}

/// Cannot be reached when it is told so, and says what is read.
class Shaky : public storage::JobFiles {
 public:
  using OnRead = std::function<void(const std::string& name)>;
  Shaky(std::string root, bool& away, OnRead& on_read)
      : files_(std::move(root)), away_(away), on_read_(on_read) {}
  absl::StatusOr<std::string> Read(const std::string& name) override {
    if (away_) return Away();
    if (on_read_) on_read_(name);
    return files_.Read(name);
  }
  absl::Status Create(const std::string& name, const std::string& contents) override {
    return files_.Create(name, contents);
  }
  absl::Status Replace(const std::string& name, const std::string& contents) override {
    return files_.Replace(name, contents);
  }
  absl::Status CreateFrom(const std::string& name, const std::string& path) override {
    return files_.CreateFrom(name, path);
  }
  absl::StatusOr<storage::StoredFile> Describe(const std::string& name) override {
    if (away_) return Away();
    return files_.Describe(name);
  }
  absl::Status Remove(const std::string& name) override { return files_.Remove(name); }

 private:
  absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) override {
    if (away_) return Away();
    return files_.List(folder);
  }
  static absl::Status Away() { return absl::UnavailableError("no NameNode answers"); }

  storage::LocalJobFiles files_;
  bool& away_;
  OnRead& on_read_;
};

class JobMirrorTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  /// As the next portal does it.
  void Open(int64_t most_bytes = JobMirror::kMostBytes) {
    mirror_.reset();
    JobMirror::Cluster cluster;
    cluster.files = std::make_unique<Shaky>(cluster_.path(), away_, on_read_);
    cluster.is_over = [this](const std::string& id) -> absl::StatusOr<bool> {
      if (away_) return absl::DeadlineExceededError("no ResourceManager answers");
      return over_[id];
    };
    mirror_ = JobMirror::Open(here_.path(), std::move(cluster), clock_, most_bytes).value();
  }
  absl::StatusOr<size_t> Round() {
    clock_.Advance(JobMirror::kAskPause);
    return mirror_->Round(stop_.get_token());
  }
  void Put(const std::string& id, const std::string& name, const std::string& contents) {
    ASSERT_TRUE(files_.Replace(absl::StrCat("jobs/", id, "/", name), contents).ok());
  }
  storage::JobFolder Folder(const std::string& id = kJob) {
    return storage::JobFolder(absl::StrCat(storage::JobsFolder(here_.path()), "/", id));
  }
  std::string Here(const std::string& path) { return os::ReadFile(path).value_or(""); }
  /// What the portal lists of a job.
  IndexedJob Indexed(const std::string& id = kJob) {
    os::TemporaryFolder folder;
    const auto index = JobIndex::Open(folder.path()).value();
    Indexer indexer({here_.path()}, *index, clock_);
    EXPECT_TRUE(indexer.Round(false).ok());
    return index->Find(here_.path(), id)->value_or(IndexedJob{});
  }

  os::TemporaryFolder cluster_, here_;
  storage::LocalJobFiles files_{cluster_.path()};
  std::map<std::string, bool> over_;
  bool away_ = false;
  FakeClock clock_;
  Shaky::OnRead on_read_;
  std::stop_source stop_;
  std::unique_ptr<JobMirror> mirror_;
};

TEST_F(JobMirrorTest, ALivingJobGrowsAndEnds) {
  const std::vector<core::JobEvent> events = FailedJob().events();
  const std::vector<core::JobEvent> first(events.begin(), events.begin() + 1);
  const std::vector<core::JobEvent> rest(events.begin() + 1, events.end());
  Put(kJob, "events/00000001.jsonl", LinesOf(first));
  Put(kJob, "job.xml", "<configuration/>");
  EXPECT_EQ(Round().value(), 0);
  EXPECT_TRUE(storage::IsAlive(Folder()));
  EXPECT_EQ(Here(Folder().events()), LinesOf(first));
  EXPECT_TRUE(Indexed().alive);

  Put(kJob, "usage.jsonl", "u1\n");
  Put(kJob, "metrics.bin", "m1");
  Put(kJob, "stacks.txt", "first look\n");
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Here(Folder().root() + "/stacks.txt"), "first look\n");
  EXPECT_EQ(Here(Folder().usage()), "u1\n");
  EXPECT_EQ(Here(Folder().metrics()), "m1");

  // All small files are merged before the next round.
  Put(kJob, "events/00000001-00000003.jsonl", LinesOf(events));
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Here(Folder().events()), LinesOf(events));
  EXPECT_TRUE(storage::IsAlive(Folder())) << "its ApplicationMaster has more to write";

  core::ObservedJob observed;
  for (const core::JobEvent& event : events) observed.Apply(event);
  history::JobEntry entry = history::EntryOf(observed, {"blue", "nightly", "0123"});
  entry.job_id = kJob;
  entry.advice = 3;
  // What is written last is copied, too: another size and time than those of the last copy.
  Put(kJob, "stacks.txt", "first look\nsecond look\n");
  std::filesystem::last_write_time(
      cluster_.path() + "/jobs/" + kJob + "/stacks.txt",
      std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  Put(kJob, "summary.json", history::EntryToJson(entry));
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Here(Folder().root() + "/stacks.txt"), "first look\nsecond look\n");
  EXPECT_FALSE(std::filesystem::exists(Folder().logs())) << "it would be taken for logs";
  EXPECT_FALSE(storage::IsAlive(Folder()));
  EXPECT_FALSE(std::filesystem::exists(Folder().usage()));
  const IndexedJob indexed = Indexed();
  EXPECT_EQ(indexed.entry.advice, 3) << "which only the summary says";
  EXPECT_EQ(indexed.entry.queue, "blue");
  EXPECT_FALSE(indexed.alive);
}

TEST_F(JobMirrorTest, CopiesStayWithoutTheClusterAndOfTheNextPortal) {
  Put(kJob, "events/00000001.jsonl", LinesOf(FailedJob().events()));
  Put(kNewer, "events/00000001.jsonl", LinesOf(RunningJob().events()));
  over_[kJob] = true;  // an earlier version has left no summary
  ASSERT_TRUE(Round().ok());
  away_ = true;
  EXPECT_TRUE(absl::IsUnavailable(Round().status()));
  EXPECT_EQ(Indexed().entry.state, "FAILED");
  EXPECT_TRUE(Indexed(kNewer).alive) << "nobody says that it is over";
  Open();
  EXPECT_TRUE(absl::IsUnavailable(Round().status()));
  EXPECT_EQ(Indexed().entry.state, "FAILED");

  // It comes back, and the job that ran has been killed meanwhile.
  away_ = false;
  over_[kNewer] = true;
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Indexed(kNewer).entry.state, "LOST");
  EXPECT_EQ(Here(Folder(kNewer).events()), LinesOf(RunningJob().events()));
}

// Ctrl-C does not wait for a whole job, nor does the copy of an earlier portal suffer.
TEST_F(JobMirrorTest, ARoundIsStoppedBetweenTwoFiles) {
  const std::vector<core::JobEvent> events = FailedJob().events();
  for (size_t i = 0; i < events.size(); ++i) {
    Put(kJob, absl::StrCat("events/0000000", i + 1, ".jsonl"), LinesOf({events[i]}));
  }
  ASSERT_TRUE(Round().ok());
  ASSERT_EQ(Here(Folder().events()), LinesOf(events));

  Open();  // the next portal copies it once more
  int read = 0;
  on_read_ = [&](const std::string&) {
    ++read;
    stop_.request_stop();
  };
  EXPECT_TRUE(absl::IsCancelled(Round().status()));
  EXPECT_EQ(read, 1);
  EXPECT_EQ(Here(Folder().events()), LinesOf(events)) << "all of the earlier copy is there";

  stop_ = std::stop_source();
  on_read_ = nullptr;
  Open();
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Here(Folder().events()), LinesOf(events));
}

TEST_F(JobMirrorTest, WhatIsGoneThereIsRemovedHere) {
  Put(kJob, "events/00000001.jsonl", LinesOf(FailedJob().events()));
  Put(kNewer, "events/00000001.jsonl", LinesOf(RunningJob().events()));
  ASSERT_TRUE(Round().ok());
  ASSERT_TRUE(files_.Remove(absl::StrCat("jobs/", kNewer)).ok());
  ASSERT_TRUE(Round().ok());
  EXPECT_TRUE(std::filesystem::exists(Folder().root()));
  EXPECT_FALSE(std::filesystem::exists(Folder(kNewer).root()));
}

TEST_F(JobMirrorTest, OtherNamesAreLeftAlone) {
  Put("mine", "events/00000001.jsonl", LinesOf(FailedJob().events()));
  Put("application_1_0001_..", "events/00000001.jsonl", LinesOf(FailedJob().events()));
  Put(kJob, "events/zzz", "what is this");
  Put(kJob, "events/00000001.jsonl", LinesOf(FailedJob().events()) + "{\"half");
  os::Put(storage::JobsFolder(here_.path()) + "/mine", "");
  ASSERT_TRUE(Round().ok());
  EXPECT_EQ(Here(Folder().events()), LinesOf(FailedJob().events()));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(storage::JobsFolder(here_.path()))) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, UnorderedElementsAre("mine", kJob));
}

TEST_F(JobMirrorTest, TheOldestOnesGoWhenThereIsNoRoom) {
  const std::string lines = LinesOf(FailedJob().events());
  Put(kJob, "events/00000001.jsonl", lines);
  ASSERT_TRUE(Round().ok());
  EXPECT_TRUE(std::filesystem::exists(Folder().root()));
  Open(/*most_bytes=*/static_cast<int64_t>(lines.size()) + 10);
  Put(kNewer, "events/00000001.jsonl", lines);
  EXPECT_EQ(Round().value(), 1);
  EXPECT_TRUE(std::filesystem::exists(Folder(kNewer).root()));
  EXPECT_FALSE(std::filesystem::exists(Folder().root()));
}

}  // namespace
}  // namespace tony::portal
