// HMAC-SHA256, by which a message shows that its sender knows a secret.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

inline constexpr size_t kHmacSha256Bytes = 32;

/// HMAC-SHA256 (RFC 2104, RFC 6234) of `message`, kHmacSha256Bytes. Thread safe.
/// Internal – OpenSSL has no SHA-256.
absl::StatusOr<std::string> HmacSha256(const std::string& secret, const std::string& message);

/// Compares in a time that says nothing of where two digests differ. Thread safe.
bool SameDigest(const std::string& one, const std::string& other);

}  // namespace tony::os
