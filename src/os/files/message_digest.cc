// HMAC-SHA256 through OpenSSL; digests are compared in constant time.
#include "os/files/message_digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <limits>

namespace tony::os {

absl::StatusOr<std::string> HmacSha256(const std::string& secret, const std::string& message) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  if (secret.size() > std::numeric_limits<int>::max() ||
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length) == nullptr ||
      length != kHmacSha256Bytes) {
    return absl::InternalError("OpenSSL could not compute an HMAC-SHA256");
  }
  digest.resize(length);
  return digest;
}

bool SameDigest(const std::string& one, const std::string& other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace tony::os
