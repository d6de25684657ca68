// Translates exceptions of Hadoop's servers into absl::Status.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tony::hadoop {

/// The status for the Java exception `class_name` with `message`. Only the first line of `message`
/// is kept, because a stack trace follows it. The code:
///   Unavailable – try again, perhaps at another server: StandbyException, RetriableException, a
///     server that is not ready yet;
///   NotFound – the application, attempt, container or file is not known;
///   Unauthenticated – the token or the ticket is not valid;
///   PermissionDenied – the user may not do this;
///   InvalidArgument – the request can never be fulfilled as it is;
///   AlreadyExists – the file exists;
///   FailedPrecondition – not possible in this state, e.g. not registered (any more);
///   ResourceExhausted – a quota is used up;
///   Unimplemented – the server knows no such method;
///   Unknown – all others.
absl::Status RemoteException(const std::string& class_name, const std::string& message);

/// The Java class of the exception that `status` was made from, without its package
/// ("StandbyException"). Empty if `status` does not come from a server's exception.
std::string RemoteExceptionName(const absl::Status& status);

}  // namespace tony::hadoop
