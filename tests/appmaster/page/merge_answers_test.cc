// Parts of several executors as one page: order, cursors, clocks that differ.
#include "appmaster/page/merge_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;

constexpr size_t kLimit = 500;

/// A line of an executor's part.
struct Line {
  int64_t millis;
  int64_t place;
  std::string text;
};

TaskLines Part(int worker, const std::vector<Line>& lines, logs::MergePlace next,
               bool more = false) {
  TaskLines part{{"worker", worker}, {}};
  for (const Line& line : lines) {
    v1::MergedLines::Row& row = *part.lines.add_rows();
    row.set_unix_millis(line.millis);
    row.set_place(line.place);
    row.set_attempt(1);
    row.set_stream(v1::ReadLog::STDOUT);
    row.set_text(line.text);
  }
  part.lines.set_place_millis(next.millis);
  part.lines.set_place_skip(next.skip);
  part.lines.set_more(more);
  return part;
}

std::vector<std::string> Texts(const web::MergedLines& page) {
  std::vector<std::string> texts;
  for (const web::MergedLine& line : page.lines) {
    texts.push_back(absl::StrCat(line.unix_millis, " ", line.task, " ", line.text));
  }
  return texts;
}

TEST(MergeAnswers, MergesByTimeThenByTask) {
  const web::MergedLines page =
      MergeAnswers({Part(1, {{10, 1, "a"}, {20, 1, "b"}}, {100, 0}),
                    Part(0, {{10, 1, "c"}, {10, 2, "d"}, {30, 1, "e"}}, {100, 0})},
                   {}, kLimit);
  EXPECT_THAT(Texts(page), ElementsAre("10 worker:0 c", "10 worker:0 d", "10 worker:1 a",
                                       "20 worker:1 b", "30 worker:0 e"));
  EXPECT_FALSE(page.more);
  EXPECT_EQ(page.next.place, (logs::MergePlace{100, 0}));
  EXPECT_EQ(page.lines[0].stream, "stdout");
}

TEST(MergeAnswers, EndsBeforeTheFirstLineThatMayStillCome) {
  // Worker 0 has more from 20 on; and worker 1's clock is at 25 only.
  const web::MergedLines page = MergeAnswers({Part(0, {{10, 1, "a"}, {20, 1, "b"}}, {20, 1}, true),
                                              Part(1, {{20, 1, "c"}, {22, 1, "d"}}, {25, 0})},
                                             {}, kLimit);
  EXPECT_THAT(Texts(page), ElementsAre("10 worker:0 a", "20 worker:0 b"));
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.next.place, (logs::MergePlace{20, 1}));
  EXPECT_EQ(page.next.task, "worker-0");
  EXPECT_EQ(PlaceIn({"worker", 0}, page.next), (logs::MergePlace{20, 1}));
  EXPECT_EQ(PlaceIn({"worker", 1}, page.next), (logs::MergePlace{20, 0}));
  EXPECT_EQ(PlaceIn({"ps", 3}, page.next), (logs::MergePlace{21, 0}));
  const web::MergedLines waits = MergeAnswers(
      {Part(0, {{30, 1, "e"}}, {40, 0}), Part(1, {{20, 1, "c"}, {22, 1, "d"}}, {25, 0})}, page.next,
      kLimit);
  EXPECT_THAT(Texts(waits), ElementsAre("20 worker:1 c", "22 worker:1 d"));
  EXPECT_FALSE(waits.more);
}

TEST(MergeAnswers, APageIsBounded) {
  const web::MergedLines two =
      MergeAnswers({Part(0, {{10, 1, "a"}, {11, 1, "b"}, {12, 1, "c"}}, {100, 0})}, {}, 2);
  EXPECT_EQ(two.lines.size(), 2U);
  EXPECT_TRUE(two.more);
  EXPECT_EQ(two.next.place, (logs::MergePlace{11, 1}));
  const std::string large(400'000, 'x');
  const web::MergedLines bytes = MergeAnswers(
      {Part(0, {{10, 1, large}, {11, 1, large}, {12, 1, large}, {13, 1, large}}, {100, 0})}, {},
      kLimit);
  EXPECT_EQ(bytes.lines.size(), 3U);
  EXPECT_TRUE(bytes.more);
}

TEST(MergeAnswers, EmptyLinesFillAPageToo) {
  std::vector<Line> lines;
  for (int64_t i = 1; i <= 40'000; ++i) lines.push_back({10, i, ""});
  const web::MergedLines page = MergeAnswers({Part(0, lines, {100, 0})}, {}, 1'000'000);
  EXPECT_LT(page.lines.size(), 20'000U);
  EXPECT_TRUE(page.more);
}

// The loop looks at what it gives, not at all that 64 tasks have sent.
TEST(MergeAnswers, TakesNoMoreThanAPageOfManyTasks) {
  constexpr int kTasks = 64;
  constexpr int64_t kLines = 1000;
  std::vector<TaskLines> parts;
  for (int task = kTasks - 1; task >= 0; --task) {
    std::vector<Line> lines;
    for (int64_t i = 1; i <= kLines; ++i) lines.push_back({i, 1, absl::StrCat(i)});
    parts.push_back(Part(task, lines, {kLines, 1}, true));
  }
  const web::MergedLines page = MergeAnswers(std::move(parts), {}, 130);
  ASSERT_EQ(page.lines.size(), 130U);
  EXPECT_EQ(Texts(page)[0], "1 worker:0 1");
  EXPECT_EQ(Texts(page)[63], "1 worker:63 1");
  EXPECT_EQ(Texts(page)[129], "3 worker:1 3");
  EXPECT_EQ(page.next.place, (logs::MergePlace{3, 1}));
  EXPECT_EQ(page.next.task, "worker-1");
}

TEST(MergeAnswers, RowsThatGoBackAreLeftOut) {
  const web::MergedLines page = MergeAnswers(
      {Part(0, {{10, 1, "a"}, {30, 1, "b"}, {20, 1, "back"}, {40, 1, "c"}}, {100, 0})}, {}, 3);
  EXPECT_THAT(Texts(page), ElementsAre("10 worker:0 a", "30 worker:0 b", "40 worker:0 c"));
}

TEST(MergeAnswers, WithoutPartsTheCursorStays) {
  const web::MergedLines page = MergeAnswers({}, {{7, 1}, "worker-2"}, kLimit);
  EXPECT_TRUE(page.empty);
  EXPECT_EQ(page.next.place, (logs::MergePlace{7, 1}));
  EXPECT_EQ(page.next.task, "worker-2");
}

/// Executors whose logs grow while a follower reads them, by clocks that differ.
class Followed {
 public:
  explicit Followed(unsigned seed) : random_(seed) {}

  /// Each executor prints some lines at its own time.
  void Print() {
    now_ += Number(5);
    for (int worker = 0; worker < kWorkers; ++worker) {
      for (int i = Number(4); i > 0; --i) {
        logs_[worker].push_back({now_ + kAhead[worker], 0, absl::StrCat(printed_++)});
      }
    }
  }
  /// One request of the follower; whether there is more.
  bool Read() {
    std::vector<TaskLines> parts;
    for (int worker = 0; worker < kWorkers; ++worker) {
      parts.push_back(Answer(worker, PlaceIn({"worker", worker}, cursor_)));
    }
    const web::MergedLines page =
        MergeAnswers(std::move(parts), cursor_, static_cast<size_t>(1 + Number(8)));
    for (const web::MergedLine& line : page.lines) {
      EXPECT_GE(line.unix_millis, newest_);
      newest_ = line.unix_millis;
      ++seen_[line.text];
    }
    cursor_ = page.next;
    return page.more;
  }
  /// All clocks go on, so that everything is old enough.
  void Pass() { now_ += 1000; }
  void ExpectEachOnce() const {
    EXPECT_EQ(seen_.size(), static_cast<size_t>(printed_));
    for (const auto& [text, count] : seen_) EXPECT_EQ(count, 1) << text;
  }

 private:
  static constexpr int kWorkers = 3;
  static constexpr int64_t kAhead[kWorkers] = {0, 7, -4};

  int Number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  /// As logs::MergeLogs() does.
  TaskLines Answer(int worker, logs::MergePlace place) {
    std::vector<Line> lines;
    const int64_t horizon = now_ + kAhead[worker];
    const size_t most = static_cast<size_t>(1 + Number(5));
    logs::MergePlace behind = place;
    int64_t time = -1, count = 0;
    for (const Line& line : logs_[worker]) {
      count = line.millis == time ? count + 1 : 1;
      time = line.millis;
      if (line.millis >= horizon) break;
      if (logs::MergePlace{time, count} <= place) continue;
      if (lines.size() == most) return Part(worker, lines, behind, true);
      behind = {time, count};
      lines.push_back({time, count, line.text});
    }
    return Part(worker, lines, std::max(behind, logs::MergePlace{horizon, 0}));
  }

  std::mt19937 random_;
  int64_t now_ = 1000;
  int printed_ = 0;
  std::map<int, std::vector<Line>> logs_;
  std::map<std::string, int> seen_;
  web::MergeCursor cursor_;
  int64_t newest_ = 0;
};

TEST(MergeAnswers, AFollowerGetsEachLineOnceThoughClocksDiffer) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Followed logs(seed);
    for (int i = 0; i < 50; ++i) {
      logs.Print();
      logs.Read();
    }
    logs.Pass();
    for (int i = 0; i < 2000 && logs.Read(); ++i) {
    }
    logs.ExpectEachOnce();
  }
}

}  // namespace
}  // namespace tony::appmaster
