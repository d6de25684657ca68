// Finds the network interface through which this machine reaches another one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// Name of the interface that the kernel's routing selects for `host`, such as "eth0"; "lo" for
/// this machine itself. Sends nothing to the host, but may ask the name service, whose answer can
/// take any time. NotFound – the host is not known, or there is no route to it. Thread safe.
absl::StatusOr<std::string> InterfaceTowards(const std::string& host);

/// The numeric addresses of all interfaces of this machine; empty if the kernel does not say.
/// Thread safe.
std::vector<std::string> OwnAddresses();

}  // namespace tony::os
