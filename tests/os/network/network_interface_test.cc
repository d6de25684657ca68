// The loopback is the one interface that every machine has.
#include "os/network/network_interface.h"

#include <gtest/gtest.h>

namespace tony::os {
namespace {

TEST(NetworkInterfaceTest, ThisMachineIsReachedByTheLoopback) {
  for (const char* const host : {"127.0.0.1", "127.0.0.12", "localhost"}) {
    const auto name = InterfaceTowards(host);
    ASSERT_TRUE(name.ok()) << name.status();
    EXPECT_EQ(*name, "lo") << host;
  }
}

TEST(NetworkInterfaceTest, AHostThatIsNotKnownIsAnError) {
  const auto name = InterfaceTowards("no-such-host.invalid");
  EXPECT_TRUE(absl::IsNotFound(name.status())) << name.status();
}

}  // namespace
}  // namespace tony::os
