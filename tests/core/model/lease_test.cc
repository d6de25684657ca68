// A lease is never longer than anybody waits before the task is given away.
#include "core/model/lease.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

using std::chrono::milliseconds;

TEST(Lease, IsTheShorterOfSilenceAndReattachment) {
  Timeouts timeouts;
  timeouts.heartbeat_interval = milliseconds(100);
  timeouts.max_missed_heartbeats = 5;
  timeouts.reattach = milliseconds(2000);
  EXPECT_EQ(HeartbeatTimeout(timeouts), milliseconds(500));
  EXPECT_EQ(LeaseOf(timeouts), milliseconds(500));
  timeouts.reattach = milliseconds(300);
  EXPECT_EQ(LeaseOf(timeouts), milliseconds(300));
}

TEST(Lease, OneHeartbeatMayAlwaysBeMissed) {
  Timeouts timeouts;
  timeouts.max_missed_heartbeats = 0;
  EXPECT_EQ(HeartbeatTimeout(timeouts), timeouts.heartbeat_interval);
}

TEST(HeartbeatPause, GrowsWithTheTasksAsFarAsTheLeaseAllows) {
  Timeouts timeouts;  // each second, for a lease of 10 s
  EXPECT_EQ(HeartbeatPause(timeouts, 1), milliseconds(1000));
  EXPECT_EQ(HeartbeatPause(timeouts, 100), milliseconds(1000));
  EXPECT_EQ(HeartbeatPause(timeouts, 200), milliseconds(2000));
  EXPECT_EQ(HeartbeatPause(timeouts, 100'000), milliseconds(4000));
  timeouts.heartbeat_interval = milliseconds(9000);  // the user's word counts
  timeouts.max_missed_heartbeats = 1;
  EXPECT_EQ(HeartbeatPause(timeouts, 100'000), milliseconds(9000));
}

TEST(HeartbeatPause, HasALeaseThatIsLongEnoughForIt) {
  Timeouts timeouts;
  timeouts.reattach = LeaseFor(1000);
  EXPECT_EQ(timeouts.reattach, milliseconds(25'000));
  EXPECT_EQ(HeartbeatPause(timeouts, 1000), milliseconds(10'000));
}

TEST(NextHeartbeat, EndsALongPauseWithAWholeSecond) {
  EXPECT_EQ(NextHeartbeat(milliseconds(10'000), 50'400), milliseconds(9'600));
  EXPECT_EQ(NextHeartbeat(milliseconds(10'000), 60'000), milliseconds(10'000));
  EXPECT_EQ(NextHeartbeat(milliseconds(10'000), 59'990), milliseconds(10'010));  // an early timer
  EXPECT_EQ(NextHeartbeat(milliseconds(10'000), 60'300), milliseconds(9'700));   // a late one
  EXPECT_EQ(NextHeartbeat(milliseconds(3'900), 60'990), milliseconds(3'010));
}

TEST(NextHeartbeat, LeavesAShortPauseAlone) {
  EXPECT_EQ(NextHeartbeat(milliseconds(1000), 50'400), milliseconds(1000));
  EXPECT_EQ(NextHeartbeat(milliseconds(10), 50'400), milliseconds(10));
}

TEST(MeasurementPause, GrowsWithTheTasks) {
  Timeouts timeouts;
  timeouts.metrics_interval = milliseconds(200);
  EXPECT_EQ(MeasurementPause(timeouts, 1), milliseconds(200));
  EXPECT_EQ(MeasurementPause(timeouts, 1000), milliseconds(10'000));
  timeouts.metrics_interval = milliseconds(20'000);  // the user's word counts
  EXPECT_EQ(MeasurementPause(timeouts, 1000), milliseconds(20'000));
}

}  // namespace
}  // namespace tony::core
