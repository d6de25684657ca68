// Tests reading the records of earlier ApplicationMasters while new ones are written.
#include "appmaster/record/past_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"
#include "tests/common/eventually.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(60);

std::string Line(int64_t sequence, core::JobEventBody body) {
  return rpc::EventToJsonLine({sequence, 5, std::move(body)}) + "\n";
}
std::string Note(int64_t sequence) { return Line(sequence, core::JobNote{"past"}); }
std::string Measured(int64_t sequence, int index) {
  return Line(sequence, core::TaskMeasured{{"worker", index}, {}});
}

class PastReaderTest : public ::testing::Test {
 protected:
  PastReader::Open Text(std::string text) {
    return [text = std::move(text)] { return std::make_unique<std::istringstream>(text); };
  }
  bool AwaitPast() {
    return Eventually([this] {
      std::lock_guard lock(log_.mutex());
      return !log_.AwaitsLocked(1);
    });
  }
  std::vector<core::JobEvent> Shown() {
    std::lock_guard lock(log_.mutex());
    std::vector<core::JobEvent> events;
    int64_t next = 1;
    while (const auto event = log_.NextLocked(next)) {
      events.push_back(rpc::FromProto(*event).value());
      next = event->sequence() + 1;
    }
    return events;
  }
  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers;
    for (const core::JobEvent& event : Shown()) numbers.push_back(event.sequence);
    return numbers;
  }

  rpc::EventLog log_;
};

TEST_F(PastReaderTest, GivesThePastAndNothingThatThisOneHasRecorded) {
  log_.AwaitPast(2);
  log_.Append(rpc::ToProto(core::JobEvent{3, 5, core::JobNote{"now"}}));
  const PastReader reader(log_, 2, Text(Note(1) + Note(2) + Note(3) + Note(4)), 0, kPatience);
  ASSERT_TRUE(AwaitPast());
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(Shown().back().body == core::JobEventBody(core::JobNote{"now"}));
}

TEST_F(PastReaderTest, SaysWhatIsMissingButNotWhatALaterMeasurementTookThePlaceOf) {
  log_.AwaitPast(9);
  const PastReader reader(log_, 9,
                          Text(absl::StrCat(Note(1), Measured(2, 0), Measured(3, 1), Measured(4, 0),
                                            Note(7), "garbage\n", Measured(8, 0), Note(9))),
                          0, kPatience);
  ASSERT_TRUE(AwaitPast());
  EXPECT_THAT(Numbers(), ElementsAre(1, 3, 6, 7, 8, 9));
  EXPECT_THAT(std::get<core::JobNote>(Shown()[2].body).sentence, HasSubstr("Up to 2 events"));
}

TEST_F(PastReaderTest, AMillionOldMeasurementsLeaveOneOfEachTask) {
  constexpr int kLines = 1'000'000;
  constexpr int kTasks = 64;
  std::string text = Note(1);
  for (int i = 0; i < kLines; ++i) {
    absl::StrAppend(&text, "{\"sequence\":\"", i + 2,
                    "\",\"unix_millis\":\"1700000000000\",\"task_measured\":{\"task\":{\"type\":"
                    "\"worker\",\"index\":",
                    i % kTasks,
                    "},\"usage\":{\"cpu_seconds\":1.5,\"memory_bytes\":\"1000000\",\"max_memory_"
                    "bytes\":\"1000000\",\"processes\":1,\"gpu_utilization\":-1,\"gpu_memory_"
                    "bytes\":\"-1\"}}}\n");
  }
  text += Note(kLines + 2);
  log_.AwaitPast(kLines + 2);
  const TimePoint began = SystemClock().Now();
  const PastReader reader(log_, kLines + 2, Text(std::move(text)), 0, kPatience);
  ASSERT_TRUE(AwaitPast());
  const std::chrono::duration<double> took = SystemClock().Now() - began;
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  EXPECT_EQ(Shown().size(), kTasks + 2u);
}

TEST_F(PastReaderTest, AnErrorIsTriedAgain) {
  log_.AwaitPast(1);
  int calls = 0;
  const PastReader reader(
      log_, 1,
      [&calls]() -> absl::StatusOr<std::unique_ptr<std::istream>> {
        if (++calls < 3) return absl::UnavailableError("no NameNode");
        return std::make_unique<std::istringstream>(Note(1));
      },
      2, Duration::zero());
  ASSERT_TRUE(AwaitPast());
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(PastReaderTest, APastThatCannotBeReadIsSaidAndHoldsUpNobodyForEver) {
  log_.AwaitPast(7);
  log_.Append(rpc::ToProto(core::JobEvent{8, 5, core::JobNote{"now"}}));
  const PastReader reader(
      log_, 7, [] { return absl::UnavailableError("no NameNode"); }, 1, Duration::zero());
  ASSERT_TRUE(AwaitPast());
  EXPECT_THAT(Numbers(), ElementsAre(7, 8));
  EXPECT_THAT(std::get<core::JobNote>(Shown()[0].body).sentence, HasSubstr("no NameNode"));
}

TEST_F(PastReaderTest, GoesAwayWhileItWaits) {
  log_.AwaitPast(1);
  PastReader(
      log_, 1, [] { return absl::UnavailableError("no NameNode"); }, 1'000, kPatience * 60);
  std::lock_guard lock(log_.mutex());
  EXPECT_TRUE(log_.AwaitsLocked(1));
}

}  // namespace
}  // namespace tony::appmaster
