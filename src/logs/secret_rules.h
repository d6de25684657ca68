// The rules of secret_scanner.h: what well-known secrets look like.
#pragma once

#include <cstddef>

namespace tony::logs {

/// A class of bytes: a table of 256 flags.
using ByteClass = const unsigned char*;

/// The result of trying the rules at one place of the output.
struct SecretMatch {
  enum class Kind {
    kNone,        ///< no secret
    kUndecided,   ///< more bytes are needed to decide
    kValue,       ///< a secret from `value` on, as long as bytes are of `value_class`
    kPart,        ///< a secret from `value` to `end`
    kPrivateKey,  ///< a private key whose body begins at `value`
  };
  Kind kind = Kind::kNone;
  const char* value = nullptr;
  const char* end = nullptr;
  ByteClass value_class = nullptr;
};

/// Number of first bytes by which FindSecretAnchor() recognizes a rule.
inline constexpr size_t kSecretAnchorBytes = 4;

/// MatchSecret() never answers kUndecided when more than this many bytes follow the place.
inline constexpr size_t kMaxUndecidedBytes = 520;

/// Returns the first place in [begin, end) at which a rule may match. If fewer than
/// kSecretAnchorBytes remain there, a place counts if they may be the first bytes of a rule.
/// Returns `end` if there is no such place.
const char* FindSecretAnchor(const char* begin, const char* end);

/// Tries the rules at `at`. `previous`: the byte before it. `last`: nothing follows `end`, so the
/// answer is never kUndecided.
SecretMatch MatchSecret(const char* at, const char* end, char previous, bool last);

}  // namespace tony::logs
