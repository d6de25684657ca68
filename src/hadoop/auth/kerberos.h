// Kerberos by the system's GSSAPI library, loaded when it is needed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/auth/sasl_mechanism.h"

namespace tony::hadoop {

struct GssapiLibrary;

/// SASL's mechanism GSSAPI (RFC 4752) for the service `principal`, "rm/host" or "rm/host@REALM",
/// with the ticket in the user's credential cache. Its steps may ask the KDC for a service ticket
/// and wait for it, so it is for programs without an event loop of their own to keep. It takes no
/// less protection than is `required`.
/// FailedPrecondition – libgssapi_krb5.so.2 is not installed.
absl::StatusOr<std::unique_ptr<SaslMechanism>> MakeKerberosMechanism(
    const std::string& principal, const RequiredProtection& required);

/// The same with a library of the caller's, which must outlive the mechanism.
std::unique_ptr<SaslMechanism> MakeKerberosMechanism(const GssapiLibrary& library,
                                                     const std::string& principal,
                                                     const RequiredProtection& required);

}  // namespace tony::hadoop
