// SHA-256 through OpenSSL's EVP interface; an error is remembered and reported by Finish().
#include "os/files/archive_digest.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace tony::os {

void Sha256::Freer::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  ok_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() = default;

void Sha256::Update(const void* data, size_t size) {
  ok_ = ok_ && EVP_DigestUpdate(context_.get(), data, size) == 1;
}

absl::StatusOr<std::string> Sha256::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (!ok_ || EVP_DigestFinal_ex(context_.get(), digest, &length) != 1) {
    return absl::InternalError("OpenSSL could not compute a SHA-256 digest");
  }
  return absl::BytesToHexString(std::string(reinterpret_cast<const char*>(digest), length));
}

}  // namespace tony::os
