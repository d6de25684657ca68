// Exceptions of Hadoop's servers as absl::Status.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tony::hadoop {

/// A status for the Java exception `class_name` with `message`, of which the first line is kept
/// (a stack trace follows it). The code:
///   Unavailable – try again, perhaps elsewhere: StandbyException, RetriableException, a server
///     that is not ready yet;
///   NotFound – the application, attempt or container is not known;
///   Unauthenticated – the token or the ticket is not good;
///   PermissionDenied – the user may not do this;
///   InvalidArgument – the request can never be fulfilled as it is;
///   FailedPrecondition – not in this state, e.g. not registered (any more);
///   ResourceExhausted – a quota is used up;
///   Unimplemented – the server knows no such method;
///   Unknown – all others.
absl::Status RemoteException(const std::string& class_name, const std::string& message);

/// The Java class of the exception that `status` came from, without its package
/// ("StandbyException"); empty when no server said it.
std::string RemoteExceptionName(const absl::Status& status);

}  // namespace tony::hadoop
