// The bytes that this host has sent and received over its network adapters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tony::os {

/// Since the boot, or since an adapter was added. A plain value.
struct HostTraffic {
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;

  bool operator==(const HostTraffic&) const = default;
};

/// 1. Interfaces of /proc/net/dev with a device behind them count: what passes a bridge, a bond or
/// a
///    tunnel passes one of those, too. If none has a device, as in most containers, all count but
///    loopback.
/// 2. The ports of adapters for RDMA count, whose traffic passes no interface. IP over InfiniBand
///    is part of it, so its interfaces do not count.
/// `root`: the root of the file system. Nothing: /proc/net/dev cannot be read.
std::optional<HostTraffic> ReadHostTraffic(const std::string& root = "");

}  // namespace tony::os
