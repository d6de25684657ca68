// Tests what OpenSSL still offers, and what it no longer sends.
#include "rpc/security/tls_setup.h"

#include <gtest/gtest.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include <filesystem>

#include "rpc/security/tls_warm_up.h"

namespace tony::rpc {
namespace {

bool HasDigest(const char* name) {
  EVP_MD* const digest = EVP_MD_fetch(nullptr, name, nullptr);
  EVP_MD_free(digest);
  ERR_clear_error();
  return digest != nullptr;
}

bool HasCipher(const char* name) {
  EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_free(cipher);
  ERR_clear_error();
  return cipher != nullptr;
}

TEST(TlsSetupTest, OffersWhatConnectionsNeedAndLittleElse) {
  SetUpTls();
  SetUpTls();  // of no effect
  EXPECT_TRUE(HasDigest("SHA256"));
  EXPECT_TRUE(HasDigest("SHA384"));
  EXPECT_FALSE(HasDigest("MD5"));
  EXPECT_TRUE(HasCipher("AES-256-GCM"));
  EXPECT_TRUE(HasCipher("CHACHA20-POLY1305"));
  EXPECT_FALSE(HasCipher("AES-128-CBC"));
  EXPECT_EQ(OSSL_PROVIDER_available(nullptr, "default"), 0);
  int decoders = 0;
  OSSL_DECODER_do_all_provided(
      nullptr, [](OSSL_DECODER*, void* count) { ++*static_cast<int*>(count); }, &decoders);
  EXPECT_GT(decoders, 0);
  EXPECT_LT(decoders, 20);  // of some ninety
}

TEST(TlsSetupTest, KeysOfP256CanBeMade) {
  SetUpTls();
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  EXPECT_NE(key, nullptr);
  EVP_PKEY_free(key);
}

TEST(TlsSetupTest, ServersSendNoTickets) {
  SetUpTls();
  SSL_CTX* const context = SSL_CTX_new(TLS_method());
  SSL* const connection = SSL_new(context);
  EXPECT_EQ(SSL_get_num_tickets(connection), 0U);
  SSL_free(connection);
  SSL_CTX_free(context);
}

TEST(TlsWarmUpTest, LeavesNeitherErrorsNorThreads) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  WarmUpTls();
  EXPECT_EQ(ERR_peek_error(), 0U);
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace tony::rpc
