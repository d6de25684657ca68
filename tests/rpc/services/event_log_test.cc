// The log in memory: numbering, who is woken, and what stays readable.
#include "rpc/services/event_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tony::rpc {
namespace {

v1::JobEvent Event(int64_t sequence) {
  v1::JobEvent event;
  event.set_sequence(sequence);
  return event;
}

// Counts its calls, which come with the mutex held.
class Counter : public EventLog::Follower {
 public:
  explicit Counter(EventLog& log) : log_(log) {
    std::lock_guard lock(log_.mutex());
    log_.AddLocked(this);
  }
  ~Counter() override { Leave(); }
  void Leave() {
    std::lock_guard lock(log_.mutex());
    log_.RemoveLocked(this);
  }
  void OnChangeLocked() override {
    std::thread([this] {
      if (!log_.mutex().try_lock()) return;
      held_ = false;
      log_.mutex().unlock();
    }).join();
    ++calls_;
  }
  int calls() const { return calls_; }
  bool held() const { return held_; }

 private:
  EventLog& log_;
  int calls_ = 0;
  bool held_ = true;
};

TEST(EventLogTest, FindsEventsByTheirNumber) {
  EventLog log;
  for (int64_t sequence = 1; sequence <= 3; ++sequence) log.Append(Event(sequence));
  std::lock_guard lock(log.mutex());
  for (int64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_NE(log.NextLocked(sequence), nullptr);
    EXPECT_EQ(log.NextLocked(sequence)->sequence(), sequence);
  }
  for (const int64_t sequence : {int64_t{0}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(log.NextLocked(sequence)->sequence(), 1);
  }
  for (const int64_t sequence : {int64_t{4}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(log.NextLocked(sequence), nullptr) << sequence;
  }
}

TEST(EventLogTest, GoesOnBehindWhatIsMissing) {
  EventLog log;
  log.Append(Event(1));
  log.Append(Event(1001));
  std::lock_guard lock(log.mutex());
  EXPECT_EQ(log.NextLocked(2)->sequence(), 1001);
  EXPECT_EQ(log.NextLocked(1001)->sequence(), 1001);
  EXPECT_EQ(log.NextLocked(1002), nullptr);
}

TEST(EventLogTest, AnEventStaysWhereItIsWhileTheLogGrows) {
  EventLog log;
  log.Append(Event(1));
  log.mutex().lock();
  const auto first = log.NextLocked(1);
  log.mutex().unlock();
  for (int64_t sequence = 2; sequence <= 1000; ++sequence) log.Append(Event(sequence));
  std::lock_guard lock(log.mutex());
  EXPECT_EQ(log.NextLocked(1), first);
  EXPECT_EQ(first->sequence(), 1);
}

TEST(EventLogTest, WakesItsFollowersForEachEventAndForTheEnd) {
  EventLog log;
  Counter one(log), two(log);
  log.Append(Event(1));
  two.Leave();
  log.Append(Event(2));
  log.Close();
  EXPECT_EQ(one.calls(), 3);
  EXPECT_EQ(two.calls(), 1);
  EXPECT_TRUE(one.held());
}

v1::JobEvent Measured(const std::string& type, int index, int processes, int64_t sequence = 0) {
  v1::JobEvent event;
  event.set_sequence(sequence);
  event.mutable_task_measured()->mutable_task()->set_type(type);
  event.mutable_task_measured()->mutable_task()->set_index(index);
  event.mutable_task_measured()->mutable_usage()->set_processes(processes);
  return event;
}

// "worker:0=3 worker:1=4": what is shown after `position`, which moves to the last.
std::string Shown(EventLog& log, int64_t& position) {
  std::lock_guard lock(log.mutex());
  std::string shown;
  while (const auto next = log.NextMeasurementLocked(position)) {
    EXPECT_GT(next->position, position);
    position = next->position;
    const v1::TaskMeasured& measured = next->event->task_measured();
    absl::StrAppend(&shown, shown.empty() ? "" : " ", measured.task().type(), ":",
                    measured.task().index(), "=", measured.usage().processes());
  }
  return shown;
}

TEST(EventLogTest, AMeasurementTakesThePlaceOfTheOneBefore) {
  EventLog log;
  Counter follower(log);
  int64_t quick = 0;
  int64_t slow = 0;
  log.ShowMeasurement(Measured("worker", 0, 1));
  EXPECT_EQ(Shown(log, quick), "worker:0=1");
  EXPECT_EQ(Shown(log, quick), "");
  log.ShowMeasurement(Measured("worker", 1, 2));
  log.ShowMeasurement(Measured("ps", 0, 3));
  log.ShowMeasurement(Measured("worker", 0, 4));
  log.ShowMeasurement(Measured("worker", 0, 5));
  EXPECT_EQ(Shown(log, quick), "worker:1=2 ps:0=3 worker:0=5");
  EXPECT_EQ(Shown(log, slow), "worker:1=2 ps:0=3 worker:0=5") << "one for each task";
  EXPECT_EQ(follower.calls(), 5);
  std::lock_guard lock(log.mutex());
  EXPECT_EQ(log.NextLocked(1), nullptr) << "they are no events";
}

TEST(EventLogTest, TheMeasurementThatARunLeavesEndsWhatIsShown) {
  EventLog log;
  log.ShowMeasurement(Measured("worker", 0, 1));
  log.ShowMeasurement(Measured("worker", 1, 2));
  log.Append(Measured("worker", 0, 3, /*sequence=*/1));
  int64_t position = 0;
  EXPECT_EQ(Shown(log, position), "worker:1=2");
}

TEST(EventLogTest, WhoAsksForThePastWaitsForItAndNobodyElseDoes) {
  EventLog log;
  log.AwaitPast(3);
  log.Append(Event(4));
  Counter follower(log);
  {
    std::lock_guard lock(log.mutex());
    for (int64_t sequence = 0; sequence <= 3; ++sequence) {
      EXPECT_EQ(log.NextLocked(sequence), nullptr);
      EXPECT_TRUE(log.AwaitsLocked(sequence));
    }
    ASSERT_NE(log.NextLocked(4), nullptr);
    EXPECT_FALSE(log.AwaitsLocked(4));
  }
  log.AddPast({Event(1), Event(3)});
  EXPECT_EQ(follower.calls(), 1);
  std::lock_guard lock(log.mutex());
  EXPECT_FALSE(log.AwaitsLocked(1));
  for (const auto& [asked, found] : {std::pair(1, 1), {2, 3}, {3, 3}, {4, 4}}) {
    EXPECT_EQ(log.NextLocked(asked)->sequence(), found);
  }
}

TEST(EventLogTest, KeepsItsEventsAfterTheEnd) {
  EventLog log;
  log.Append(Event(1));
  {
    std::lock_guard lock(log.mutex());
    EXPECT_FALSE(log.closed_locked());
  }
  log.Close();
  std::lock_guard lock(log.mutex());
  EXPECT_TRUE(log.closed_locked());
  EXPECT_NE(log.NextLocked(1), nullptr);
}

}  // namespace
}  // namespace tony::rpc
