// Made-up adapters, and those of this machine.
#include "os/machine/host_traffic.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

constexpr char kHeadings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n";

std::string Line(const std::string& name, int64_t received, int64_t sent) {
  return absl::StrCat("  ", name, ": ", received, " 5 0 0 0 0 0 0 ", sent, " 6 0 0 0 0 0 0\n");
}

TEST(HostTrafficTest, CountsEachByteOnceWhereAdaptersAreReal) {
  const TemporaryFolder root;
  // A bond of two adapters, a bridge and IP over InfiniBand.
  Put(root / "proc/net/dev",
      absl::StrCat(kHeadings, Line("lo", 1'000'000, 1'000'000), Line("eth0", 100, 10),
                   Line("eth1", 200, 20), Line("bond0", 300, 30), Line("docker0", 7, 7),
                   Line("ib0", 5000, 4000)));
  for (const char* name : {"eth0", "eth1", "ib0"}) {
    Put(root / absl::StrCat("sys/class/net/", name, "/device/vendor"), "");
    Put(root / absl::StrCat("sys/class/net/", name, "/type"), name[0] == 'i' ? "32\n" : "1\n");
  }
  Put(root / "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
  Put(root / "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "2000\n");
  Put(root / "sys/class/infiniband/mlx5_1/ports/2/counters/port_rcv_data", "1\n");
  EXPECT_EQ(ReadHostTraffic(root.path()),
            (HostTraffic{.sent_bytes = 30 + 4000, .received_bytes = 300 + 8004}));
}

TEST(HostTrafficTest, CountsAllButLoopbackInAContainer) {
  const TemporaryFolder root;
  Put(root / "proc/net/dev",
      absl::StrCat(kHeadings, Line("lo", 9, 9), Line("eth0", 1LL << 40, 10), "broken: 5\n"));
  EXPECT_EQ(ReadHostTraffic(root.path()),
            (HostTraffic{.sent_bytes = 10, .received_bytes = 1LL << 40}));
  EXPECT_FALSE(ReadHostTraffic(root / "nowhere"));
}

TEST(HostTrafficTest, ReadsThisMachine) {
  const auto first = ReadHostTraffic();
  ASSERT_TRUE(first);
  const auto second = ReadHostTraffic();
  ASSERT_TRUE(second);
  EXPECT_GE(second->sent_bytes, first->sent_bytes);
  EXPECT_GE(second->received_bytes, first->received_bytes);
}

}  // namespace
}  // namespace tony::os
