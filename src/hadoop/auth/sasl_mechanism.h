// The client's side of one way to authenticate, and the protection that it brings.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/auth/rpc_protection.h"

namespace tony::hadoop {

/// One authentication on one connection: Start, Answer as often as the server asks, Finish; then
/// Wrap and Unwrap, each in the order of the stream. ChooseProtection() decides among what the
/// server offers. Not thread safe.
class SaslMechanism {
 public:
  virtual ~SaslMechanism() = default;

  /// The first token to send. `challenge` is what came with the server's offer, or empty.
  /// InvalidArgument – it is malformed; Unauthenticated – there is nothing to authenticate with;
  /// FailedPrecondition – a library or an algorithm is missing; Unimplemented – no common
  /// protection; PermissionDenied – less of it than is required.
  virtual absl::StatusOr<std::string> Start(const std::string& challenge) = 0;
  /// The answer to a further challenge. The codes of Start().
  virtual absl::StatusOr<std::string> Answer(const std::string& challenge) = 0;
  /// Takes the server's word of success with what came with it. Unauthenticated – the server has
  /// not proved that it knows our secret.
  virtual absl::Status Finish(const std::string& token) = 0;

  /// Valid after Finish.
  virtual Protection protection() const = 0;
  /// The most bytes that one Wrap may take; valid after Finish, as are the next two.
  virtual size_t MaxWrapBytes() const = 0;
  /// Protects `plain`. Internal – the library refuses.
  virtual absl::StatusOr<std::string> Wrap(const std::string& plain) = 0;
  /// The reverse. DataLoss – changed, replayed, out of order, or no protected data at all.
  virtual absl::StatusOr<std::string> Unwrap(const std::string& wrapped) = 0;
};

}  // namespace tony::hadoop
