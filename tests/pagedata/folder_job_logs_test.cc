// Logs in a job's folder, as the API wants them: merged in pages, and whole.
#include "pagedata/folder_job_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/common/loop_driver.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::pagedata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FolderJobLogsTest : public ::testing::Test {
 protected:
  FolderJobLogsTest() {
    view_.job.job_id = "job-1";
    for (int i = 0; i < 2; ++i) {
      core::JobView::Task task;
      task.last.task = {"worker", i};
      task.last.attempt = 1;
      task.last.state = core::TaskState::kRunning;
      view_.tasks.push_back(task);
    }
  }

  void Append(int worker, const std::string& stream, const std::string& text, int64_t millis) {
    logs::AppendTimed(
        absl::StrCat(job_folder_.task_logs({"worker", worker}), "/attempt-1/", stream, ".log"),
        text, millis);
  }
  void End() {
    for (core::JobView::Task& task : view_.tasks) task.last.state = core::TaskState::kSucceeded;
    view_.verdict.emplace();
  }
  absl::StatusOr<web::MergedLines> Merge(const web::MergeWish& wish) {
    std::optional<absl::StatusOr<web::MergedLines>> answer;
    logs_.Merge(view_, wish, nullptr, [&](absl::StatusOr<web::MergedLines> lines) {
      answer = std::move(lines);
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return answer.has_value(); }));
    return *std::move(answer);
  }
  static std::vector<std::string> Texts(const web::MergedLines& page) {
    std::vector<std::string> texts;
    for (const web::MergedLine& line : page.lines) {
      texts.push_back(absl::StrCat(line.task, " ", line.stream, " ", line.text));
    }
    return texts;
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  SystemClock clock_;
  core::JobView view_;
  const storage::JobFolder job_folder_{folder_.path()};
  FolderJobLogs logs_{driver_.loop(), clock_, job_folder_};
};

TEST_F(FolderJobLogsTest, MergesInPages) {
  Append(0, "stdout", "a\n", 10);
  Append(1, "stderr", "b\n", 20);
  Append(0, "stdout", "c\n", 30);
  const auto first = Merge({.limit = 2});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Texts(*first), ElementsAre("worker:0 stdout a", "worker:1 stderr b"));
  EXPECT_TRUE(first->more);
  const auto second = Merge({.cursor = first->next});
  EXPECT_THAT(Texts(*second), ElementsAre("worker:0 stdout c"));
  EXPECT_FALSE(second->more);
  EXPECT_THAT(Texts(*Merge({.cursor = second->next})), IsEmpty());
  EXPECT_THAT(Texts(*Merge({.task = "worker-1"})), ElementsAre("worker:1 stderr b"));
  EXPECT_THAT(Texts(*Merge({.standard_error = false, .match = "c"})),
              ElementsAre("worker:0 stdout c"));
}

TEST_F(FolderJobLogsTest, WhatIsStillBeingWrittenComesLater) {
  Append(0, "stdout", "old\nhalf", 10);
  Append(0, "stdout", " of it\n", clock_.UnixMillis() + 3'600'000);
  const auto running = Merge({});
  EXPECT_THAT(Texts(*running), ElementsAre("worker:0 stdout old"));
  Append(1, "stdout", "no end", 20);
  End();
  EXPECT_THAT(Texts(*Merge({.cursor = running->next})), ElementsAre("worker:0 stdout half of it"));
  EXPECT_THAT(Texts(*Merge({})), ElementsAre("worker:0 stdout old", "worker:1 stdout no end",
                                             "worker:0 stdout half of it"));
}

TEST_F(FolderJobLogsTest, WithoutLogsItIsEmpty) {
  const auto page = Merge({});
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->empty);
  EXPECT_TRUE(absl::IsInvalidArgument(Merge({.task = "ps"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Merge({.match = "("}).status()));
}

TEST_F(FolderJobLogsTest, AnErrorIsFoundInTheLogAtItsOffset) {
  const std::string before = "fine\nalso fine\n";
  Append(0, "stderr", absl::StrCat(before, "ValueError: bad batch\nmore\n"), 10);
  view_.verdict.emplace();
  view_.verdict->outcome = core::Outcome::kFailed;
  view_.verdict->guilty = core::TaskId{"worker", 0};
  std::optional<absl::StatusOr<web::JobErrors>> errors;
  logs_.FindErrors(view_, nullptr, [&](absl::StatusOr<web::JobErrors> found) {
    errors = std::move(found);
    driver_.Changed();
  });
  ASSERT_TRUE(driver_.Await([&] { return errors.has_value(); }));
  ASSERT_TRUE(errors->ok() && (*errors)->own) << errors->status();
  const web::PrintedFailure& own = *(*errors)->own;
  EXPECT_EQ(own.offset, static_cast<int64_t>(before.size()));
  std::optional<absl::StatusOr<logs::LogBlock>> block;
  logs_.ReadBlock({{"worker", 0}, own.attempt, own.stream}, own.offset, 1000, nullptr,
                  [&](absl::StatusOr<logs::LogBlock> read) {
                    block = std::move(read);
                    driver_.Changed();
                  });
  ASSERT_TRUE(driver_.Await([&] { return block.has_value(); }));
  ASSERT_TRUE(block->ok()) << block->status();
  EXPECT_EQ((*block)->rows[0].text, "ValueError: bad batch");
}

}  // namespace
}  // namespace tony::pagedata
