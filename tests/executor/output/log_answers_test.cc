// Tests that only logs of the container can be read, and that answers are bounded.
#include "executor/output/log_answers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "common/clock.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

class LogAnswersTest : public ::testing::Test {
 protected:
  v1::LogLines Ask(const v1::ReadLog& wish) {
    answers_.Answer(wish);
    EXPECT_TRUE(driver_.Await([&] { return !answered_.empty(); }));
    v1::LogLines lines = std::move(answered_.back());
    answered_.clear();
    return lines;
  }
  static v1::ReadLog Of(v1::ReadLog::Stream stream, int attempt) {
    v1::ReadLog wish;
    wish.set_request(7);
    wish.set_stream(stream);
    wish.set_attempt(attempt);
    wish.set_limit_bytes(1000);
    return wish;
  }
  void Put(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name) << bytes;
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  SystemClock clock_;
  std::vector<v1::LogLines> answered_;
  LogAnswers answers_{driver_.loop(), clock_, folder_.path(), [this](v1::LogLines lines) {
                        answered_.push_back(std::move(lines));
                        driver_.Changed();
                      }};
};

TEST_F(LogAnswersTest, ReadsABlockOfAnAttemptsStream) {
  Put("attempt-2.stderr.log", "one\ntwo\n");
  const v1::LogLines lines = Ask(Of(v1::ReadLog::STDERR, 2));
  EXPECT_EQ(lines.request(), 7);
  EXPECT_EQ(lines.code(), 0) << lines.trouble();
  ASSERT_EQ(lines.rows_size(), 2);
  EXPECT_EQ(lines.rows(1).text(), "two");
  EXPECT_EQ(lines.rows(1).offset(), 4);
  EXPECT_FALSE(lines.has_next());
}

TEST_F(LogAnswersTest, FindsLinesThatMatch) {
  Put("attempt-1.stdout.log", "a 1\nb\na 2\n");
  v1::ReadLog wish = Of(v1::ReadLog::STDOUT, 1);
  wish.mutable_search()->set_pattern("^a");
  wish.mutable_search()->set_hits(10);
  const v1::LogLines lines = Ask(wish);
  ASSERT_EQ(lines.rows_size(), 2);
  EXPECT_TRUE(lines.rows(0).hit());
  EXPECT_EQ(lines.rows(1).text(), "a 2");
  wish.mutable_search()->set_pattern("(");
  EXPECT_EQ(Ask(wish).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(LogAnswersTest, ALogThatIsNotThereOrCannotBeIsNotFound) {
  const int not_found = static_cast<int>(absl::StatusCode::kNotFound);
  EXPECT_EQ(Ask(Of(v1::ReadLog::STDOUT, 1)).code(), not_found);
  EXPECT_EQ(Ask(Of(v1::ReadLog::STDOUT, 0)).code(), not_found);
  EXPECT_EQ(Ask(Of(v1::ReadLog::EXECUTOR, 1)).code(), not_found);
  EXPECT_EQ(Ask(Of(v1::ReadLog::STREAM_UNSPECIFIED, 1)).code(), not_found);
}

TEST_F(LogAnswersTest, ALinkInPlaceOfALogIsNotRead) {
  Put("secret", "secret\n");
  std::filesystem::create_symlink(folder_ / "secret", folder_ / "attempt-1.stdout.log");
  EXPECT_EQ(Ask(Of(v1::ReadLog::STDOUT, 1)).rows_size(), 0);
}

TEST_F(LogAnswersTest, AnAnswerFitsIntoAMessage) {
  Put("attempt-1.stdout.log", std::string(2 << 20, '\n'));
  v1::ReadLog wish = Of(v1::ReadLog::STDOUT, 1);
  wish.set_limit_bytes(int64_t{1} << 40);
  const v1::LogLines lines = Ask(wish);
  EXPECT_GT(lines.rows_size(), 1000);
  EXPECT_LT(lines.ByteSizeLong(), size_t{3} << 20);
  EXPECT_TRUE(lines.has_next());
}

}  // namespace
}  // namespace tony::executor
