// The addresses by which other hosts may reach this host.
#include "collective/net/net_address.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <cstring>
#include <deque>

namespace tony::collective {
namespace {

/// Network interfaces, as getifaddrs() lists them.
class Interfaces {
 public:
  Interfaces& Add(const std::string& host, unsigned flags = IFF_UP) {
    auto address = NetAddress::Of(host, 0);
    EXPECT_TRUE(address.ok()) << host;
    std::memcpy(&storage_.emplace_back(), address->data(), address->size());
    ifaddrs& one = list_.emplace_back();
    one.ifa_flags = flags;
    one.ifa_addr = reinterpret_cast<sockaddr*>(&storage_.back());
    if (list_.size() > 1) list_[list_.size() - 2].ifa_next = &one;
    return *this;
  }
  Interfaces& AddWithoutAddress() {
    Add("192.0.2.9");
    list_.back().ifa_addr = nullptr;
    return *this;
  }
  const ifaddrs* list() const { return list_.empty() ? nullptr : &list_.front(); }

 private:
  // Elements of a deque stay where they are.
  std::deque<ifaddrs> list_;
  std::deque<sockaddr_storage> storage_;
};

TEST(NetAddressTest, AHostIsReachedByItsFirstInterface) {
  Interfaces interfaces;
  interfaces.Add("127.0.0.1", IFF_UP | IFF_LOOPBACK).AddWithoutAddress().Add("192.0.2.3", 0);
  EXPECT_EQ(FirstReachableHost(interfaces.list()), "") << "one is down, the other has no address";
  interfaces.Add("2001:db8::7").Add("192.0.2.4").Add("192.0.2.5");
  EXPECT_EQ(FirstReachableHost(interfaces.list()), "192.0.2.4");
}

TEST(NetAddressTest, AHostWithoutIpv4IsReachedByIpv6) {
  Interfaces interfaces;
  interfaces.Add("127.0.0.1", IFF_UP | IFF_LOOPBACK).Add("::1", IFF_UP | IFF_LOOPBACK);
  interfaces.Add("fe80::1");
  EXPECT_EQ(FirstReachableHost(interfaces.list()), "") << "a link-local address needs an interface";
  interfaces.Add("2001:db8::7");
  EXPECT_EQ(FirstReachableHost(interfaces.list()), "2001:db8::7");
}

TEST(NetAddressTest, TheOwnHostIsNeverLoopback) {
  auto host = OwnHost();
  if (!host.ok()) {
    EXPECT_EQ(host.status().code(), Code::kFailedPrecondition) << host.status().message();
    return;
  }
  auto address = NetAddress::Of(*host, 1);
  ASSERT_TRUE(address.ok());
  EXPECT_FALSE(address->IsLoopback()) << *host;
}

}  // namespace
}  // namespace tony::collective
