// HMAC-SHA256, which proves that a message's sender knows a secret.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

inline constexpr size_t kHmacSha256Bytes = 32;

/// HMAC-SHA256 (RFC 2104, RFC 6234) of `message`, kHmacSha256Bytes long. Thread safe.
/// Internal – OpenSSL has no SHA-256.
absl::StatusOr<std::string> HmacSha256(const std::string& secret, const std::string& message);

/// Compares two digests in constant time: the time does not tell where they differ. Thread safe.
bool SameDigest(const std::string& one, const std::string& other);

}  // namespace tony::os
