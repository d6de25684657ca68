// Histories as lines: what is left out unparsed, and what is known from the end alone.
#include "rpc/convert/event_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/convert/event_json.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/every_event.h"

namespace tony::rpc {
namespace {

using ::testing::ElementsAre;

std::string Line(int64_t sequence, core::JobEventBody body) {
  return EventToJsonLine({sequence, 1'700'000'000'000, std::move(body)}) + "\n";
}
std::string Note(int64_t sequence) { return Line(sequence, core::JobNote{"note"}); }
std::string Measured(int64_t sequence, int index, int attempt = 0, int processes = 1) {
  core::TaskUsage usage;
  usage.processes = processes;
  usage.collective.emplace().bytes = 5;
  return Line(sequence, core::TaskMeasured{{"worker", index}, usage, attempt});
}

// The numbers of the events that are taken, and of those that are skipped.
struct Taken {
  explicit Taken(const std::string& text) {
    std::istringstream lines(text);
    ForEachEventLine(
        lines,
        [this](int number, const absl::StatusOr<core::JobEvent>& event) {
          line_numbers.push_back(number);
          sequences.push_back(event.ok() ? event->sequence : -1);
          return true;
        },
        [this](int64_t sequence) { skipped.push_back(sequence); });
  }
  std::vector<int> line_numbers;
  std::vector<int64_t> sequences;
  std::vector<int64_t> skipped;
};

TEST(ScanMeasurementTest, KnowsMeasurementsAndNothingElse) {
  for (const core::JobEventBody& body : FullBodies("\",\"task_measured\":{\"task\":{}}")) {
    const bool measured = std::holds_alternative<core::TaskMeasured>(body);
    EXPECT_EQ(ScanMeasurement(EventToJsonLine({7, 8, body})).has_value(), measured);
  }
  for (const core::JobEventBody& body : BareBodies()) {
    const bool measured = std::holds_alternative<core::TaskMeasured>(body);
    EXPECT_EQ(ScanMeasurement(EventToJsonLine({7, 0, body})).has_value(), measured);
  }
  EXPECT_EQ(ScanMeasurement(EventToJsonLine({7, 8, core::TaskMeasured{{"w", 1}, {}}}))->sequence,
            7);
  for (const char* const other :
       {"", "{", "garbage", "{\"sequence\":\"\",\"task_measured\":{\"task\":{}}}",
        "{\"sequence\":\"1\",\"unix_millis\":\"1\",\"task_measured\":{\"task\":{"}) {
    EXPECT_FALSE(ScanMeasurement(other)) << other;
  }
}

TEST(ScanMeasurementTest, TellsRunsApart) {
  const auto run = [](int index, int attempt, int processes = 1) {
    const std::string line = Measured(1, index, attempt, processes);
    return ScanMeasurement(line.substr(0, line.size() - 1))->run;
  };
  EXPECT_EQ(run(1, 0, 3), run(1, 0, 4));
  EXPECT_EQ(run(1, 2, 3), run(1, 2, 4));
  EXPECT_NE(run(0, 0), run(1, 0));
  EXPECT_NE(run(1, 1), run(1, 2));
  EXPECT_NE(run(1, 1), run(11, 1));
}

TEST(ForEachEventLineTest, OfEachRunOnlyTheLastMeasurementIsTaken) {
  const Taken taken(absl::StrCat(Note(1), Measured(2, 0), Measured(3, 1), Measured(4, 0), Note(5),
                                 Measured(6, 0), Measured(7, 0, 2), Note(8), Measured(9, 0, 3)));
  EXPECT_THAT(taken.sequences, ElementsAre(1, 3, 5, 6, 7, 8, 9));
  EXPECT_THAT(taken.line_numbers, ElementsAre(1, 3, 5, 6, 7, 8, 9));
  EXPECT_THAT(taken.skipped, ElementsAre(2, 4));
}

TEST(ForEachEventLineTest, ALineThatIsNoneIsToldAndOneThatIsNotFinishedIsNot) {
  const std::string unfinished = Measured(4, 0);
  const Taken taken(absl::StrCat(Measured(1, 0), "garbage\n", Measured(3, 0),
                                 unfinished.substr(0, unfinished.size() - 1)));
  EXPECT_THAT(taken.sequences, ElementsAre(-1, 3));
  EXPECT_THAT(taken.line_numbers, ElementsAre(2, 3));
}

TEST(ForEachEventLineTest, StopsWhenItIsTold) {
  std::istringstream lines(Note(1) + Note(2));
  int calls = 0;
  ForEachEventLine(lines, [&](int, const absl::StatusOr<core::JobEvent>&) {
    ++calls;
    return false;
  });
  EXPECT_EQ(calls, 1);
}

class HistoryEndTest : public ::testing::Test {
 protected:
  HistoryEnd EndOf(const std::string& text) {
    os::Put(path_, text);
    const absl::StatusOr<HistoryEnd> end = ReadHistoryEnd(path_);
    EXPECT_TRUE(end.ok()) << end.status();
    return end.value_or(HistoryEnd{});
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "events.jsonl";
};

TEST_F(HistoryEndTest, IsThatOfTheLastWholeEvent) {
  EXPECT_EQ(ReadHistoryEnd(path_)->sequence, 0) << "there is no file";
  EXPECT_EQ(EndOf("").bytes, 0);
  EXPECT_EQ(EndOf("half a li").bytes, 0);
  const std::string whole = Note(1) + Measured(2, 0);
  for (const std::string rest : {"", "{\"seq"}) {
    const HistoryEnd end = EndOf(whole + rest);
    EXPECT_EQ(end.bytes, static_cast<int64_t>(whole.size()));
    EXPECT_EQ(end.rest, static_cast<int64_t>(rest.size()));
    EXPECT_EQ(end.sequence, 2);
    EXPECT_FALSE(end.ended);
  }
  EXPECT_TRUE(EndOf(whole + Line(3, core::JobEnded{})).ended);
  const HistoryEnd damaged = EndOf(whole + "garbage\n\nmore\n");
  EXPECT_EQ(damaged.sequence, 2);
  EXPECT_EQ(damaged.bytes, static_cast<int64_t>(whole.size()) + 14);
  EXPECT_EQ(EndOf("\ngarbage\n").sequence, 0);
  EXPECT_EQ(FindHistoryEnd(whole).sequence, 2);
  EXPECT_EQ(FindHistoryEnd("").sequence, 0);
}

TEST_F(HistoryEndTest, ALastLineMayBeLongerThanWhatIsReadAtFirst) {
  const std::string before = Note(1) + Note(2);
  core::JobEnded ended;
  ended.verdict.sentence = std::string(300 << 10, 'x');
  const std::string last = Line(3, ended);
  const HistoryEnd end = EndOf(before + last);
  EXPECT_EQ(end.sequence, 3);
  EXPECT_TRUE(end.ended);
  EXPECT_EQ(end.bytes, static_cast<int64_t>(before.size() + last.size()));
  EXPECT_EQ(EndOf(before + last.substr(0, last.size() - 1)).sequence, 2);
  EXPECT_EQ(EndOf(before + last.substr(0, last.size() - 1)).bytes,
            static_cast<int64_t>(before.size()));
}

}  // namespace
}  // namespace tony::rpc
