// Tests that only logs of the container can be read, and that answers are bounded.
#include "executor/output/log_answers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "common/clock.h"
#include "logs/log_merge.h"
#include "tests/common/loop_driver.h"
#include "tests/logs/timed_log.h"
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

TEST_F(LogAnswersTest, FindsLinesOfALevelWithAPatternOrWithoutOne) {
  Put("attempt-1.stderr.log", "step 17\nValueError: bad batch 17\nKeyError: 1\n");
  Put("executor.log", "2001-09-09T03:46:40.100+02:00 info no error\nterminate called\n");
  v1::ReadLog wish = Of(v1::ReadLog::STDERR, 1);
  wish.mutable_search()->set_pattern("ValueError|17");
  wish.mutable_search()->set_level("error");
  wish.mutable_search()->set_hits(10);
  v1::LogLines lines = Ask(wish);
  ASSERT_EQ(lines.rows_size(), 1);
  EXPECT_EQ(lines.rows(0).text(), "ValueError: bad batch 17");
  wish.mutable_search()->clear_pattern();
  EXPECT_EQ(Ask(wish).rows_size(), 2);
  wish.set_stream(v1::ReadLog::EXECUTOR);
  wish.set_attempt(0);
  lines = Ask(wish);
  ASSERT_EQ(lines.rows_size(), 1);
  EXPECT_EQ(lines.rows(0).text(), "terminate called");
  wish.mutable_search()->set_level("loud");
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

TEST_F(LogAnswersTest, GivesBytesAsTheyAre) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(300'000, 'x') + "end";
  Put("attempt-1.stdout.log", bytes);
  v1::ReadLog wish = Of(v1::ReadLog::STDOUT, 1);
  wish.set_raw(true);
  wish.set_limit_bytes(int64_t{1} << 40);
  std::string all;
  for (int pieces = 0; pieces < 2; ++pieces) {
    wish.set_offset(static_cast<int64_t>(all.size()));
    const v1::LogLines lines = Ask(wish);
    EXPECT_EQ(lines.offset(), wish.offset());
    EXPECT_EQ(lines.size(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(lines.has_next(), pieces == 0);
    all += lines.raw();
  }
  EXPECT_EQ(all, bytes);
}

TEST_F(LogAnswersTest, FindsTheFirstErrorOfAnAttempt) {
  Put("attempt-1.stderr.log", "ValueError: of the first attempt\n");
  Put("attempt-2.stdout.log", "one\nerror: perhaps\n");
  Put("attempt-2.stderr.log", "two\nTraceback (most recent call last):\n  x\nKeyError: 1\nthree\n");
  v1::ReadLog wish = Of(v1::ReadLog::STREAM_UNSPECIFIED, 2);
  wish.mutable_find_error();
  const v1::LogLines lines = Ask(wish);
  EXPECT_TRUE(lines.printed());
  EXPECT_EQ(lines.error().attempt(), 2);
  EXPECT_EQ(lines.error().stream(), v1::ReadLog::STDERR);
  EXPECT_EQ(lines.error().line(), 2);
  EXPECT_EQ(lines.error().offset(), 4);
  EXPECT_GT(lines.host_millis(), 0);
  ASSERT_EQ(lines.error().before_size(), 1);
  EXPECT_EQ(lines.error().before(0), "two");
  ASSERT_EQ(lines.error().lines_size(), 3);
  EXPECT_EQ(lines.error().lines(2), "KeyError: 1");
  wish.set_attempt(3);
  EXPECT_FALSE(Ask(wish).has_error());
  wish.set_attempt(0);
  EXPECT_EQ(Ask(wish).error().lines(0), "ValueError: of the first attempt");
}

// The ApplicationMaster's clock is an hour behind this host's.
TEST_F(LogAnswersTest, ErrorsAreLookedForByTheHostsOwnClock) {
  constexpr int64_t kHour = 3'600'000;
  const int64_t now = clock_.UnixMillis();
  logs::AppendTimed(folder_ / "attempt-1.stderr.log", "OSError: before\n", now - 60'000);
  logs::AppendTimed(folder_ / "attempt-1.stderr.log", "OSError: after\n", now - 20'000);
  v1::ReadLog wish = Of(v1::ReadLog::STREAM_UNSPECIFIED, 1);
  wish.mutable_find_error()->set_since_millis(now - kHour - 30'000);
  wish.mutable_find_error()->set_sent_millis(now - kHour);
  EXPECT_EQ(Ask(wish).error().lines(0), "OSError: after");
  wish.mutable_find_error()->clear_sent_millis();  // the clocks count as equal
  EXPECT_EQ(Ask(wish).error().lines(0), "OSError: before");
}

TEST_F(LogAnswersTest, AnErrorOfAnySizeFitsIntoAMessage) {
  std::string text = "Traceback (most recent call last):\n";
  for (int i = 0; i < 400; ++i) text += "  " + std::string(60'000, 'x') + "\n";
  Put("attempt-1.stderr.log", text + "KeyError: 1\n");
  v1::ReadLog wish = Of(v1::ReadLog::STREAM_UNSPECIFIED, 1);
  wish.mutable_find_error();
  const v1::LogLines lines = Ask(wish);
  EXPECT_GT(lines.error().lines_size(), 2);
  EXPECT_LT(lines.ByteSizeLong(), size_t{300'000});
}

TEST_F(LogAnswersTest, MergesTheStreamsOfAllAttempts) {
  logs::AppendTimed(folder_ / "attempt-1.stdout.log", "one\n", 10);
  logs::AppendTimed(folder_ / "attempt-1.stderr.log", "two\n", 20);
  logs::AppendTimed(folder_ / "attempt-2.stdout.log", "three\nhalf", 30);
  Put("executor.log", "2001-09-09T03:46:40.100+02:00 info starting\n");
  v1::ReadLog wish = Of(v1::ReadLog::STREAM_UNSPECIFIED, 0);
  v1::MergeWish& merge = *wish.mutable_merge();
  merge.set_standard_output(true);
  merge.set_standard_error(true);
  merge.set_lines(2);
  const int64_t before = clock_.UnixMillis();
  v1::LogLines lines = Ask(wish);
  ASSERT_EQ(lines.merged().rows_size(), 2) << lines.trouble();
  EXPECT_EQ(lines.merged().rows(1).text(), "two");
  EXPECT_EQ(lines.merged().rows(1).stream(), v1::ReadLog::STDERR);
  EXPECT_TRUE(lines.merged().more());
  merge.set_place_millis(lines.merged().place_millis());
  merge.set_place_skip(lines.merged().place_skip());
  merge.set_open_ends(true);
  lines = Ask(wish);
  ASSERT_EQ(lines.merged().rows_size(), 2);
  EXPECT_EQ(lines.merged().rows(0).text(), "three");
  EXPECT_EQ(lines.merged().rows(0).attempt(), 2);
  EXPECT_EQ(lines.merged().rows(1).text(), "half");
  EXPECT_FALSE(lines.merged().more());
  // It says up to when it has given everything.
  EXPECT_GE(lines.merged().place_millis(), before - logs::kWritingTime.count());
  merge.set_standard_output(false);
  merge.set_standard_error(false);
  merge.set_executor(true);
  EXPECT_EQ(Ask(wish).merged().rows(0).unix_millis(), 1'000'000'000'100);
  merge.set_pattern("(");
  EXPECT_EQ(Ask(wish).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  merge.clear_pattern();
  merge.set_level("loud");
  EXPECT_EQ(Ask(wish).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(LogAnswersTest, AMergeDoesNotFollowLinksEither) {
  Put("secret", "secret\n");
  std::filesystem::create_symlink(folder_ / "secret", folder_ / "attempt-1.stdout.log");
  v1::ReadLog wish = Of(v1::ReadLog::STREAM_UNSPECIFIED, 0);
  wish.mutable_merge()->set_standard_output(true);
  EXPECT_EQ(Ask(wish).merged().rows_size(), 0);
  v1::ReadLog error = Of(v1::ReadLog::STREAM_UNSPECIFIED, 0);
  error.mutable_find_error();
  EXPECT_FALSE(Ask(error).printed());
}

}  // namespace
}  // namespace tony::executor
