// The text is that of the PHC string format, with base64 without padding. The costs are those that
// OWASP recommends for scrypt: N=2^16, r=8, p=2.
#include "os/files/password_hash.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "os/files/message_digest.h"

namespace tony::os {
namespace {

constexpr size_t kSaltBytes = 16;
constexpr size_t kKeyBytes = 32;
/// What a hash in a file may cost at most, so that no line of it can stop its reader.
constexpr uint64_t kMostMemory = uint64_t{128} << 20;
constexpr int kMostParallel = 8;

struct Hash {
  int log_n = 16;
  int r = 8;
  int p = 2;
  std::string salt;
  std::string key;
};

uint64_t MemoryOf(const Hash& hash) {
  return (uint64_t{1} << hash.log_n) * 128 * static_cast<uint64_t>(hash.r);
}

std::string Encode(const std::string& bytes) {
  std::string text = absl::Base64Escape(bytes);
  while (absl::EndsWith(text, "=")) text.pop_back();
  return text;
}

/// Reads "name=NUMBER" with a number from 1 to `most`.
bool ReadCost(absl::string_view text, absl::string_view name, int most, int& cost) {
  return absl::ConsumePrefix(&text, absl::StrCat(name, "=")) && absl::SimpleAtoi(text, &cost) &&
         cost >= 1 && cost <= most;
}

std::optional<Hash> Parse(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '$');
  if (parts.size() != 5 || !parts[0].empty() || parts[1] != "scrypt") return std::nullopt;
  const std::vector<std::string> costs = absl::StrSplit(parts[2], ',');
  Hash hash;
  if (costs.size() != 3 || !ReadCost(costs[0], "ln", 20, hash.log_n) ||
      !ReadCost(costs[1], "r", 32, hash.r) || !ReadCost(costs[2], "p", kMostParallel, hash.p) ||
      MemoryOf(hash) > kMostMemory || !absl::Base64Unescape(parts[3], &hash.salt) ||
      !absl::Base64Unescape(parts[4], &hash.key) || hash.salt.size() < 8 ||
      hash.key.size() != kKeyBytes) {
    return std::nullopt;
  }
  return hash;
}

absl::StatusOr<std::string> KeyOf(const std::string& password, const Hash& hash) {
  std::string key(kKeyBytes, '\0');
  // OpenSSL counts its own buffers besides the memory of the algorithm.
  const uint64_t most = MemoryOf(hash) + (uint64_t{4} << 20);
  const int done = EVP_PBE_scrypt(password.data(), password.size(),
                                  reinterpret_cast<const unsigned char*>(hash.salt.data()),
                                  hash.salt.size(), uint64_t{1} << hash.log_n,
                                  static_cast<uint64_t>(hash.r), static_cast<uint64_t>(hash.p),
                                  most, reinterpret_cast<unsigned char*>(key.data()), key.size());
  ERR_clear_error();
  if (done != 1) return absl::InternalError("OpenSSL could not compute scrypt");
  return key;
}

}  // namespace

absl::StatusOr<std::string> HashPassword(const std::string& password) {
  Hash hash;
  hash.salt.resize(kSaltBytes);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(hash.salt.data()), kSaltBytes) != 1) {
    ERR_clear_error();
    return absl::InternalError("OpenSSL has no random bytes");
  }
  TONY_ASSIGN_OR_RETURN(hash.key, KeyOf(password, hash));
  return absl::StrCat("$scrypt$ln=", hash.log_n, ",r=", hash.r, ",p=", hash.p, "$",
                      Encode(hash.salt), "$", Encode(hash.key));
}

bool IsPasswordHash(const std::string& hash) { return Parse(hash).has_value(); }

absl::StatusOr<bool> CheckPassword(const std::string& password, const std::string& hash) {
  const std::optional<Hash> parsed = Parse(hash);
  if (!parsed) return absl::InvalidArgumentError("this is no hash of a password");
  TONY_ASSIGN_OR_RETURN(const std::string key, KeyOf(password, *parsed));
  return SameDigest(key, parsed->key);
}

}  // namespace tony::os
