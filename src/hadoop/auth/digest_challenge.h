// The challenge of DIGEST-MD5 (RFC 2831): reading it, and writing values into answers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::hadoop {

/// What a server says first. A plain value.
struct DigestChallenge {
  std::string realm;  ///< the first, where it offers several
  std::string nonce;
  std::vector<std::string> protections;  ///< qop: "auth", "auth-int", "auth-conf"
  std::vector<std::string> ciphers;      ///< of auth-conf
  size_t max_bytes = 65536;              ///< of a protected message that the server takes
  bool utf8 = false;
};

/// InvalidArgument – not of the form `name=value,name="value",…`, longer than 64 KiB, without a
/// nonce, with two of a kind where one is allowed, or for another algorithm than md5-sess.
absl::StatusOr<DigestChallenge> ParseDigestChallenge(const std::string& text);

/// The pairs of such a list by name, in lower case; of a name that stands twice the values in
/// order. InvalidArgument – malformed.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> ParseDigestPairs(
    const std::string& text);

/// `text` in double quotes, with a backslash before quotes and backslashes.
std::string DigestQuoted(const std::string& text);

}  // namespace tony::hadoop
