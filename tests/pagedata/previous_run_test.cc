// The last successful run of a name is found among other runs, other names and damaged summaries.
#include "pagedata/previous_run.h"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "history/job_entry.h"
#include "storage/local_job_files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::pagedata {
namespace {

class PreviousRunTest : public ::testing::Test {
 protected:
  void WriteRun(const std::string& id, const std::string& name, int exit_code, int64_t seconds) {
    const std::string folder = jobs_ / id;
    std::filesystem::create_directory(folder);
    history::JobEntry entry;
    entry.job_id = id;
    entry.name = name;
    entry.exit_code = exit_code;
    entry.submitted_millis = seconds * 1000 - 500;
    entry.ended_millis = seconds * 1000;
    std::ofstream(folder + "/summary.json") << history::EntryToJson(entry);
    const timeval times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimes((folder + "/summary.json").c_str(), times), 0);
    std::ofstream(folder + "/job.xml")
        << "<configuration><property><name>tony.worker.instances</name><value>" << seconds
        << "</value></property></configuration>";
  }
  std::optional<web::PreviousRun> Find(const std::string& name = "mnist") {
    return FindPreviousRun({jobs_.path(), "job-9", name}, [] { return false; });
  }

  os::TemporaryFolder jobs_;
};

TEST_F(PreviousRunTest, TheNewestSuccessfulOneOfTheNameCounts) {
  WriteRun("job-1", "mnist", 0, 100);
  WriteRun("job-2", "mnist", 0, 200);
  WriteRun("job-3", "mnist", 1, 300);
  WriteRun("job-4", "other", 0, 400);
  WriteRun("job-9", "mnist", 0, 500);
  const auto found = Find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->job_id, "job-2");
  EXPECT_EQ(found->ended_millis, 200'000);
  ASSERT_EQ(found->config.size(), 1U);
  EXPECT_EQ(found->config[0].key, "tony.worker.instances");
  EXPECT_EQ(found->config[0].value, "200");
}

TEST_F(PreviousRunTest, LaterRunsAreNotPrevious) {
  WriteRun("job-1", "mnist", 0, 100);
  WriteRun("job-2", "mnist", 0, 200);
  const auto found = FindPreviousRun({jobs_.path(), "job-9", "mnist", /*before_millis=*/150'000},
                                     [] { return false; });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->job_id, "job-1");
}

// In a storage the order is that of the ids, which the caller knows.
TEST_F(PreviousRunTest, RunsInAStorageAreReadFileByFile) {
  WriteRun("job-1", "mnist", 0, 100);
  WriteRun("job-2", "mnist", 1, 200);
  WriteRun("job-3", "other", 0, 300);
  WriteRun("job-9", "mnist", 0, 500);
  const os::TemporaryFolder scratch;
  storage::LocalJobFiles files(jobs_.path());
  const auto find = [&](const std::vector<std::string>& ids) {
    return FindStoredRun({scratch.path(), "job-9", "mnist"}, files, ids, [] { return false; });
  };
  const auto found = find({"job-9", "job-5", "job-3", "job-2", "job-1"});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->job_id, "job-1");
  ASSERT_EQ(found->config.size(), 1U);
  EXPECT_EQ(found->config[0].value, "100");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  EXPECT_FALSE(find({"job-9", "job-3"}).has_value());
  std::vector<std::string> many(kMostStoredRuns, "job-3");
  many.push_back("job-1");
  EXPECT_FALSE(find(many).has_value());
}

TEST_F(PreviousRunTest, DamagedAndForeignFilesAreLeftOut) {
  WriteRun("job-1", "mnist", 0, 100);
  WriteRun("job-2", "mnist", 0, 200);
  std::ofstream(jobs_ / "job-2/summary.json") << "{\"job_id\":";
  WriteRun("job-3", "mnist", 0, 300);
  std::filesystem::remove(jobs_ / "job-3/job.xml");
  std::filesystem::create_symlink(jobs_ / "job-1/job.xml", jobs_ / "job-3/job.xml");
  std::ofstream(jobs_ / "a file");
  EXPECT_EQ(Find()->job_id, "job-1");
}

TEST_F(PreviousRunTest, ThereMayBeNone) {
  EXPECT_FALSE(Find().has_value());
  WriteRun("job-1", "", 0, 100);
  EXPECT_FALSE(Find("").has_value());
  WriteRun("job-2", "mnist", 0, 200);
  EXPECT_FALSE(FindPreviousRun({jobs_.path(), "job-9", "mnist"}, [] { return true; }).has_value());
  EXPECT_FALSE(FindPreviousRun({jobs_ / "none", "", "mnist"}, [] { return false; }).has_value());
}

TEST_F(PreviousRunTest, IsFoundOnAThread) {
  WriteRun("job-1", "mnist", 0, 100);
  LoopDriver driver;
  PreviousRuns runs(driver.loop(), {jobs_.path(), "job-9", "mnist"});
  std::optional<absl::StatusOr<std::optional<web::PreviousRun>>> answer;
  runs.Find([&](const auto& found) {
    answer = found;
    driver.Changed();
  });
  ASSERT_TRUE(driver.Await([&] { return answer.has_value(); }));
  ASSERT_TRUE(answer->ok() && (*answer)->has_value());
  EXPECT_EQ((**answer)->job_id, "job-1");
}

TEST_F(PreviousRunTest, ASlowSearchIsMadeOnceForAllAndKept) {
  LoopDriver driver;
  FakeClock clock;
  std::atomic<int> searches = 0;
  PreviousRuns runs(driver.loop(), clock, [&](const std::function<bool()>&) {
    ++searches;
    return std::optional<web::PreviousRun>();
  });
  int answers = 0;
  const auto ask = [&] {
    runs.Find([&](const auto& found) {
      EXPECT_TRUE(found.ok() && !found->has_value());
      ++answers;
      driver.Changed();
    });
  };
  ask();
  ask();
  ASSERT_TRUE(driver.Await([&] { return answers == 2; }));
  ask();
  EXPECT_EQ(answers, 3) << "at once";
  EXPECT_EQ(searches, 1);
  clock.Advance(PreviousRuns::kKept);
  ask();
  ASSERT_TRUE(driver.Await([&] { return answers == 4; }));
  EXPECT_EQ(searches, 2);
}

}  // namespace
}  // namespace tony::pagedata
