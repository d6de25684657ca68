// Kerberos by the system's GSSAPI library, loaded when it is needed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/sasl_mechanism.h"

namespace tony::hadoop {

/// SASL's mechanism GSSAPI (RFC 4752) for the service `principal`, "rm/host" or "rm/host@REALM",
/// with the ticket in the user's credential cache. Its steps may ask the KDC for a service ticket
/// and wait for it, so it is for programs without an event loop of their own to keep.
/// FailedPrecondition – libgssapi_krb5.so.2 is not installed.
absl::StatusOr<std::unique_ptr<SaslMechanism>> MakeKerberosMechanism(const std::string& principal);

}  // namespace tony::hadoop
