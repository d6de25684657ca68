// The text form of DIGEST-MD5's messages (RFC 2831): parses challenges, quotes values for answers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::hadoop {

/// The server's first message (RFC 2831, 2.1.1). A plain value.
struct DigestChallenge {
  std::string realm;  ///< the first one, if the server offers several
  std::string nonce;
  std::vector<std::string> protections;  ///< qop: "auth", "auth-int", "auth-conf"
  std::vector<std::string> ciphers;      ///< cipher: those offered for auth-conf
  size_t max_bytes = 65536;              ///< maxbuf: longest protected message the server takes
  bool utf8 = false;
};

/// Parses the server's challenge. InvalidArgument – `text` is not of the form
/// `name=value,name="value",…`, is longer than 64 KiB, has no nonce, repeats a name that may occur
/// once, or asks for another algorithm than md5-sess.
absl::StatusOr<DigestChallenge> ParseDigestChallenge(const std::string& text);

/// Parses a list `name=value,name="value",…` into values by name. Names are in lower case; the
/// values of a repeated name are in the order of the text. InvalidArgument – malformed.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> ParseDigestPairs(
    const std::string& text);

/// `text` in double quotes, with a backslash before quotes and backslashes.
std::string DigestQuoted(const std::string& text);

}  // namespace tony::hadoop
