// Secrets that are derived from an authority's key: always the same, and each for its purpose.
#include "rpc/security/derived_secret.h"

#include <openssl/core_names.h>
#include <openssl/pem.h>

#include <set>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/message_digest.h"
#include "rpc/security/certificate_authority.h"

namespace tony::rpc {
namespace {

std::string NewAuthority() { return CertificateAuthority::Create("job-1").value().ToPem(); }

TEST(DerivedSecretTest, IsTheSameEachTime) {
  const std::string pem = NewAuthority();
  const std::string secret = DeriveSecret(pem, "one purpose").value();
  EXPECT_THAT(secret, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(secret.size(), 64u);
  EXPECT_EQ(DeriveSecret(pem, "one purpose").value(), secret);
  const std::string loaded = CertificateAuthority::Load(pem).value().ToPem();
  EXPECT_EQ(DeriveSecret(loaded, "one purpose").value(), secret);
}

TEST(DerivedSecretTest, OtherPurposesAndJobsHaveOthers) {
  const std::string pem = NewAuthority();
  const std::set<std::string> secrets = {
      DeriveSecret(pem, "one purpose").value(), DeriveSecret(pem, "another").value(),
      DeriveSecret(pem, "").value(), DeriveSecret(NewAuthority(), "one purpose").value()};
  EXPECT_EQ(secrets.size(), 4u);
}

TEST(DerivedSecretTest, IsAnHmacByTheKeysNumber) {
  const std::string pem = NewAuthority();
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(memory, nullptr, nullptr, nullptr);
  BIGNUM* number = nullptr;
  ASSERT_EQ(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number), 1);
  std::string bytes(32, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), 32);
  BN_free(number);
  EVP_PKEY_free(key);
  BIO_free(memory);
  const std::string digest = os::HmacSha256(bytes, "tony, a secret for: this").value();
  EXPECT_EQ(DeriveSecret(pem, "this").value(), absl::BytesToHexString(digest));
  EXPECT_EQ(pem.find(absl::BytesToHexString(digest)), std::string::npos);
}

TEST(DerivedSecretTest, NeedsAnAuthoritysKey) {
  const std::string pem = NewAuthority();
  const std::string without_key = pem.substr(0, pem.find("-----BEGIN PRIVATE KEY"));
  for (const std::string& bad : {std::string(), std::string("no key"), without_key}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DeriveSecret(bad, "this").status())) << bad;
  }
}

}  // namespace
}  // namespace tony::rpc
