// The log in memory: numbering, who is woken, and what stays readable.
#include "rpc/event_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

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
