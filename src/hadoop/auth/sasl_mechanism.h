// The interface of a SASL mechanism: the client's side of authentication and the protection after
// it.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/auth/rpc_protection.h"

namespace tony::hadoop {

/// One authentication on one connection. The calls are Start, Answer for each further challenge,
/// Finish; then Wrap and Unwrap, each in the order of the stream. Implementations choose among the
/// server's protections by ChooseProtection(). Not thread safe.
class SaslMechanism {
 public:
  virtual ~SaslMechanism() = default;

  /// The first token to send. `challenge` is the one in the server's offer, or empty.
  /// InvalidArgument – `challenge` is malformed; Unauthenticated – there is no ticket or it is not
  /// valid; FailedPrecondition – a library or an algorithm is missing; Unimplemented – no
  /// protection is known to both sides; PermissionDenied – the common protection is below the
  /// required one; Internal – OpenSSL or GSSAPI fails.
  virtual absl::StatusOr<std::string> Start(const std::string& challenge) = 0;
  /// The answer to a further challenge. The codes of Start().
  virtual absl::StatusOr<std::string> Answer(const std::string& challenge) = 0;
  /// Checks the `token` of the server's success message. Unauthenticated – the server has not
  /// proved that it knows the shared secret.
  virtual absl::Status Finish(const std::string& token) = 0;

  /// The chosen protection. Valid after Finish.
  virtual Protection protection() const = 0;
  /// The largest size of `plain` in one Wrap. Valid after Finish, like Wrap and Unwrap.
  virtual size_t MaxWrapBytes() const = 0;
  /// Protects `plain`. Internal – the library refuses.
  virtual absl::StatusOr<std::string> Wrap(const std::string& plain) = 0;
  /// The reverse of the server's Wrap. DataLoss – `wrapped` is changed, replayed, out of order, or
  /// not protected at all.
  virtual absl::StatusOr<std::string> Unwrap(const std::string& wrapped) = 0;
};

}  // namespace tony::hadoop
