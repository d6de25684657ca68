// What well-known secrets look like: the rules of secret_scanner.h.
#pragma once

#include <cstddef>

namespace tony::executor {

/// Members of a class of bytes: a table of 256 flags.
using ByteClass = const unsigned char*;

/// What stands at one place of the output.
struct SecretMatch {
  enum class Kind {
    kNone,        ///< no secret
    kUndecided,   ///< more bytes are needed to tell
    kValue,       ///< a secret from `value` on, as long as bytes are of `value_class`
    kPart,        ///< a secret from `value` to `end`
    kPrivateKey,  ///< a private key, whose body begins at `value`
  };
  Kind kind = Kind::kNone;
  const char* value = nullptr;
  const char* end = nullptr;
  ByteClass value_class = nullptr;
};

/// By so many first bytes FindSecretAnchor() knows a rule.
inline constexpr size_t kSecretAnchorBytes = 4;

/// The first place of [begin, end) at which a rule may match, or where fewer than
/// kSecretAnchorBytes remain that may be a rule's first ones; `end` when there is none.
const char* FindSecretAnchor(const char* begin, const char* end);

/// Tries the rules at `at`. `previous` is the byte before it. With `last` nothing follows `end`,
/// and the answer is not kUndecided.
SecretMatch MatchSecret(const char* at, const char* end, char previous, bool last);

}  // namespace tony::executor
