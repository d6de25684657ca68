// Kerberos authentication through the system's GSSAPI library, which is loaded on first use.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/auth/sasl_mechanism.h"

namespace tony::hadoop {

struct GssapiLibrary;

/// Makes SASL's mechanism GSSAPI (RFC 4752) for the service `principal`, "rm/host" or
/// "rm/host@REALM", with the ticket in the user's credential cache. The mechanism accepts no
/// protection below `required`. Its steps block while the KDC issues a service ticket, so a program
/// that must keep an event loop running cannot use it there. FailedPrecondition –
/// libgssapi_krb5.so.2 is not installed.
absl::StatusOr<std::unique_ptr<SaslMechanism>> MakeKerberosMechanism(
    const std::string& principal, const RequiredProtection& required);

/// The same with a library that the caller passes, such as a test's. `library` must outlive the
/// mechanism.
std::unique_ptr<SaslMechanism> MakeKerberosMechanism(const GssapiLibrary& library,
                                                     const std::string& principal,
                                                     const RequiredProtection& required);

}  // namespace tony::hadoop
