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

}  // namespace
}  // namespace tony::core
