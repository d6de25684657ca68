// A handshake of two ends in memory. Its keys are never used again: OpenSSL's random generators
// notice a fork and reseed.
#include "rpc/security/tls_warm_up.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "rpc/security/certificate_authority.h"

namespace tony::rpc {
namespace {

constexpr char kAnyJob[] = "warm-up";

struct ContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, ContextDeleter>;

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Ssl = std::unique_ptr<SSL, SslDeleter>;

// One context for both ends: their identities do not matter, and they need not trust each other.
Context MakeContext(const std::string& pem) {
  Context context(SSL_CTX_new(TLS_method()));
  BIO* const memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* const certificate = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(memory, nullptr, nullptr, nullptr);
  if (context != nullptr && certificate != nullptr && key != nullptr) {
    SSL_CTX_use_certificate(context.get(), certificate);
    SSL_CTX_use_PrivateKey(context.get(), key);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  }
  EVP_PKEY_free(key);
  X509_free(certificate);
  BIO_free(memory);
  return context;
}

}  // namespace

void WarmUpTls() {
  const auto authority = CertificateAuthority::Create(kAnyJob);
  if (!authority.ok()) return;
  const Context context = MakeContext(authority->ToPem());
  const Ssl server(SSL_new(context.get()));
  const Ssl client(SSL_new(context.get()));
  BIO* server_end = nullptr;
  BIO* client_end = nullptr;
  if (server == nullptr || client == nullptr ||
      BIO_new_bio_pair(&server_end, 0, &client_end, 0) != 1) {
    ERR_clear_error();
    return;
  }
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  // In a TLS 1.3 handshake each end has two turns; a third one does no harm.
  for (int turn = 0; turn < 3; ++turn) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  ERR_clear_error();
}

}  // namespace tony::rpc
