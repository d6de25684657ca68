// Uses the private number of the authority's P-256 key as the key of an HMAC.
#include "rpc/security/derived_secret.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/message_digest.h"
#include "rpc/security/tls_setup.h"

namespace tony::rpc {
namespace {

constexpr int kNumberBytes = 32;  // length of a P-256 private number

struct Freed {
  void operator()(BIO* memory) const { BIO_free_all(memory); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
};

absl::StatusOr<std::string> PrivateNumber(const std::string& pem) {
  const std::unique_ptr<BIO, Freed> memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // This call skips the certificates in front of the key.
  const std::unique_ptr<EVP_PKEY, Freed> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
  BIGNUM* secret = nullptr;
  if (key != nullptr) EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_PRIV_KEY, &secret);
  const std::unique_ptr<BIGNUM, Freed> number(secret);
  std::string bytes(kNumberBytes, '\0');
  if (number == nullptr ||
      BN_bn2binpad(number.get(), reinterpret_cast<unsigned char*>(bytes.data()), kNumberBytes) !=
          kNumberBytes) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the text holds no P-256 key of a certificate authority");
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> DeriveSecret(const std::string& authority_pem,
                                         const std::string& purpose) {
  SetUpTls();
  TONY_ASSIGN_OR_RETURN(std::string number, PrivateNumber(authority_pem));
  // The prefix separates the purposes: no other HMAC with this key is of a text that begins so.
  const absl::StatusOr<std::string> digest =
      os::HmacSha256(number, absl::StrCat("tony, a secret for: ", purpose));
  OPENSSL_cleanse(number.data(), number.size());
  TONY_RETURN_IF_ERROR(digest.status());
  return absl::BytesToHexString(*digest);
}

}  // namespace tony::rpc
