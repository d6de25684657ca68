// By which of this machine's network interfaces another machine is reached.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

/// The name of the interface, as the kernel routes: "eth0"; for this machine itself "lo". Sends
/// nothing, but may ask the name service, which takes as long as it takes. NotFound – the host is
/// not known, or there is no way to it. Thread safe.
absl::StatusOr<std::string> InterfaceTowards(const std::string& host);

}  // namespace tony::os
