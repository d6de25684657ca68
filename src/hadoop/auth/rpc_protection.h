// hadoop.rpc.protection: how connections are protected, and the least that is accepted.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::hadoop {

class Configuration;

/// What is done to all that follows authentication, the weakest first.
enum class Protection {
  kAuthentication,  ///< nothing
  kIntegrity,       ///< a code that nobody else can make
  kPrivacy,         ///< encrypted too
};

/// Hadoop's word: "authentication", "integrity", "privacy".
const char* ProtectionName(Protection protection);

/// What the user's configuration demands. A server's offer is not authenticated: without a demand
/// of our own, whoever sits between could cut it down to nothing. A plain value.
struct RequiredProtection {
  Protection minimum = Protection::kAuthentication;
  std::string demand;  ///< for messages: "hadoop.rpc.protection = privacy (FILE:LINE)"

  bool operator==(const RequiredProtection&) const = default;
};

/// The weakest of the values of hadoop.rpc.protection, which lists what a Java client accepts.
/// InvalidArgument – one of them is none.
absl::StatusOr<RequiredProtection> ReadRequiredProtection(const Configuration& configuration);

/// The strongest of `usable`, which is what the server offers and is known here. PermissionDenied –
/// that is less than `required`; Unimplemented – there is nothing. `offered` names in messages all
/// that the server offers.
absl::StatusOr<Protection> ChooseProtection(const std::vector<Protection>& usable,
                                            const RequiredProtection& required,
                                            const std::string& offered);

}  // namespace tony::hadoop
