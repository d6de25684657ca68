// Stacks that were kept in a job's folder, where programs may have put anything.
#include "pagedata/kept_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "os/files/files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::pagedata {
namespace {

using ::testing::HasSubstr;

constexpr int kAll = 0;  // in place of an attempt

class KeptStacksTest : public ::testing::Test {
 protected:
  /// The file of a worker's attempt, or of all tasks; its folder is made.
  std::string PathOf(int worker, int attempt) {
    const std::string folder =
        attempt == kAll ? job_.logs()
                        : absl::StrCat(job_.task_logs({"worker", worker}), "/attempt-", attempt);
    EXPECT_TRUE(os::MakeFolders(folder).ok());
    return folder + "/stacks.txt";
  }
  void Keep(int worker, int attempt, const std::string& text) {
    ASSERT_TRUE(os::WriteFileAtomically(PathOf(worker, attempt), text).ok());
  }
  web::KeptStacksPage Read(int workers = 2) {
    core::JobView view;
    for (int i = 0; i < workers; ++i) {
      core::JobView::Task task;
      task.last.task = {"worker", i};
      view.tasks.push_back(task);
    }
    FolderKeptStacks kept(driver_.loop(), job_);
    std::optional<absl::StatusOr<web::KeptStacksPage>> page;
    kept.Read(view, nullptr, [&](absl::StatusOr<web::KeptStacksPage> read) {
      page = std::move(read);
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return page.has_value(); }));
    EXPECT_TRUE(page && page->ok());
    return page && page->ok() ? **page : web::KeptStacksPage{};
  }

  os::TemporaryFolder temporary_;
  const storage::JobFolder job_{temporary_.path() + "/job"};
  LoopDriver driver_;
};

TEST_F(KeptStacksTest, AJobThatEndedByItselfHasNone) {
  EXPECT_TRUE(Read().texts.empty());
  EXPECT_EQ(Read().left_out, 0);
}

TEST_F(KeptStacksTest, ThoseOfAllTasksComeFirstThenAttemptByAttempt) {
  Keep(1, 10, "tenth\n");
  Keep(1, 2, "second\n");
  Keep(0, 1, "first\n");
  Keep(0, kAll, "The job seems to hang\n");
  const web::KeptStacksPage page = Read();
  std::vector<std::string> shown;
  for (const web::KeptStacksText& one : page.texts) {
    shown.push_back(absl::StrCat(one.task, "/", one.attempt, " ", one.text));
    EXPECT_FALSE(one.cut);
  }
  EXPECT_THAT(shown, ::testing::ElementsAre("/0 The job seems to hang\n", "worker:0/1 first\n",
                                            "worker:1/2 second\n", "worker:1/10 tenth\n"));
  EXPECT_EQ(page.left_out, 0);
}

TEST_F(KeptStacksTest, ACopyOfAClustersJobHasThemBesideItsRecords) {
  ASSERT_TRUE(os::MakeFolders(job_.root()).ok());
  ASSERT_TRUE(os::WriteFileAtomically(job_.root() + "/stacks.txt", "copied\n").ok());
  ASSERT_EQ(Read().texts.size(), 1U);
  EXPECT_EQ(Read().texts[0].text, "copied\n");
}

// Neither is followed, and a pipe without a writer is not waited for.
TEST_F(KeptStacksTest, LinksAndPipesAreNotRead) {
  ASSERT_TRUE(os::WriteFileAtomically(temporary_.path() + "/secret", "secret\n").ok());
  ASSERT_EQ(::symlink((temporary_.path() + "/secret").c_str(), PathOf(0, 1).c_str()), 0);
  ASSERT_EQ(::mkfifo(PathOf(0, 2).c_str(), 0600), 0);
  Keep(0, 3, "plain\n");
  const web::KeptStacksPage page = Read();
  ASSERT_EQ(page.texts.size(), 1U);
  EXPECT_EQ(page.texts[0].text, "plain\n");
  EXPECT_FALSE(ReadKeptStacks(PathOf(0, 1), 100).ok());
  const auto pipe = ReadKeptStacks(PathOf(0, 2), 100);
  EXPECT_TRUE(absl::IsFailedPrecondition(pipe.status()));
  EXPECT_THAT(std::string(pipe.status().message()), HasSubstr("no plain file"));
}

TEST_F(KeptStacksTest, LongAndManyOnesAreCutAndCounted) {
  const std::string line(999, 'x');
  std::string text;
  while (text.size() <= FolderKeptStacks::kMostFileBytes) absl::StrAppend(&text, line, "\n");
  for (int attempt = 1; attempt <= 4; ++attempt) Keep(0, attempt, text);
  web::KeptStacksPage page = Read();
  ASSERT_FALSE(page.texts.empty());
  size_t bytes = 0;
  for (const web::KeptStacksText& one : page.texts) {
    EXPECT_TRUE(one.cut);
    EXPECT_TRUE(one.text.empty() || one.text.back() == '\n') << "whole lines";
    bytes += one.text.size();
  }
  EXPECT_LE(bytes, FolderKeptStacks::kMostBytes);
  EXPECT_EQ(page.texts.size() + static_cast<size_t>(page.left_out), 4U);
  EXPECT_GE(page.left_out, 1);

  for (int attempt = 1; attempt <= 40; ++attempt) Keep(0, attempt, "short\n");
  page = Read();
  EXPECT_EQ(page.texts.size(), FolderKeptStacks::kMostFiles);
  EXPECT_EQ(page.left_out, 8);
}

TEST_F(KeptStacksTest, WhatIsNoTextIsMadeHarmless) {
  Keep(0, 1, "a\x1b[31mb\xff\n");
  ASSERT_EQ(Read().texts.size(), 1U);
  EXPECT_EQ(Read().texts[0].text, "ab\xEF\xBF\xBD\n");
}

}  // namespace
}  // namespace tony::pagedata
