// Protection of RPC connections after authentication, and the minimum that the key
// hadoop.rpc.protection sets.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::hadoop {

class Configuration;

/// The protection of the bytes after authentication, the weakest first.
enum class Protection {
  kAuthentication,  ///< none
  kIntegrity,       ///< each message has a message authentication code
  kPrivacy,         ///< each message is encrypted too
};

/// Hadoop's name for `protection`: "authentication", "integrity", "privacy".
const char* ProtectionName(Protection protection);

/// The least protection that the user's configuration accepts. A server's offer is not
/// authenticated: without a minimum of the client's own, a man in the middle could reduce the offer
/// to "authentication". A plain value.
struct RequiredProtection {
  Protection minimum = Protection::kAuthentication;
  std::string demand;  ///< where `minimum` is from: "hadoop.rpc.protection = privacy (FILE:LINE)"

  bool operator==(const RequiredProtection&) const = default;
};

/// Reads the minimum: the weakest value of hadoop.rpc.protection, which lists what a Java client
/// accepts. InvalidArgument – one of the values is not known.
absl::StatusOr<RequiredProtection> ReadRequiredProtection(const Configuration& configuration);

/// The strongest of `usable`, the protections that the server offers and the client implements.
/// `offered` names the server's whole offer, for messages. PermissionDenied – the strongest is
/// below `required`; Unimplemented – `usable` is empty.
absl::StatusOr<Protection> ChooseProtection(const std::vector<Protection>& usable,
                                            const RequiredProtection& required,
                                            const std::string& offered);

}  // namespace tony::hadoop
