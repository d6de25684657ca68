// SSL_read() and SSL_write() on the socket itself, so that received bytes are decrypted straight
// into the caller's memory. Every thread has its own queue of OpenSSL's errors, which is emptied
// before each call, since SSL_get_error() looks into it.
#include "rpc/security/tls_stream.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/security/tls_setup.h"

namespace tony::rpc {
namespace {

struct Freed {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(OSSL_LIB_CTX* library) const { OSSL_LIB_CTX_free(library); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* memory) const { BIO_free_all(memory); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename Type>
using Owned = std::unique_ptr<Type, Freed>;

Owned<BIO> Memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

class TlsStream : public ByteStream {
 public:
  /// `owned`: `socket`, if this stream is to close it.
  TlsStream(std::shared_ptr<OSSL_LIB_CTX> library, Owned<SSL> ssl, int socket, os::UniqueFd owned)
      : library_(std::move(library)),
        owned_(std::move(owned)),
        socket_(socket),
        ssl_(std::move(ssl)) {}

  IoResult Read(char* data, size_t size) override {
    ERR_clear_error();
    return ResultOf(SSL_read(ssl_.get(), data, Length(size)));
  }
  IoResult Write(const char* data, size_t size) override {
    ERR_clear_error();
    return ResultOf(SSL_write(ssl_.get(), data, Length(size)));
  }
  // The message that says so is small; if there is no room for it, the end of the socket says it.
  void EndWriting() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    (void)::shutdown(socket_, SHUT_WR);
  }
  bool buffered() const override { return SSL_pending(ssl_.get()) > 0; }
  int fd() const override { return socket_; }

 private:
  static int Length(size_t size) { return static_cast<int>(std::min<size_t>(size, INT_MAX)); }

  IoResult ResultOf(int moved) const {
    if (moved > 0) return {IoResult::State::kMoved, static_cast<size_t>(moved)};
    const int error = SSL_get_error(ssl_.get(), moved);
    ERR_clear_error();
    switch (error) {
      case SSL_ERROR_WANT_READ:
        return {IoResult::State::kWantsRead};
      case SSL_ERROR_WANT_WRITE:
        return {IoResult::State::kWantsWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {IoResult::State::kEnd};
      default:
        return {IoResult::State::kBroken};
    }
  }

  const std::shared_ptr<OSSL_LIB_CTX> library_;  ///< outlives ssl_, perhaps not the server
  os::UniqueFd owned_;
  const int socket_;  ///< outlives ssl_, which uses it
  Owned<SSL> ssl_;
};

class OpenSslServer : public TlsServer {
 public:
  explicit OpenSslServer(Owned<SSL_CTX> context, std::shared_ptr<OSSL_LIB_CTX> library = nullptr)
      : library_(std::move(library)), context_(std::move(context)) {}

  std::unique_ptr<ByteStream> Accept(os::UniqueFd socket) override {
    const int descriptor = socket.get();
    return Make(descriptor, std::move(socket));
  }
  std::unique_ptr<ByteStream> Wrap(int socket) override { return Make(socket, os::UniqueFd()); }

 private:
  std::unique_ptr<ByteStream> Make(int socket, os::UniqueFd owned) {
    Owned<SSL> ssl(SSL_new(context_.get()));
    if (ssl == nullptr || SSL_set_fd(ssl.get(), socket) != 1) {
      ERR_clear_error();
      return nullptr;
    }
    SSL_set_accept_state(ssl.get());
    return std::make_unique<TlsStream>(library_, std::move(ssl), socket, std::move(owned));
  }

  std::shared_ptr<OSSL_LIB_CTX> library_;  ///< outlives context_; null: the process's own
  Owned<SSL_CTX> context_;
};

/// What all of our servers have in common. False: OpenSSL refuses it.
bool SetUpContext(SSL_CTX* context) {
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
    return false;
  }
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // On by default: SSL_read() would go from one record without application data to the next one for
  // as long as there are any (SSL_CTX_set_mode(3)). A peer that sends nothing but updates of keys,
  // which costs it little, would so keep the event loop. Without it each of them is a kWantsRead.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return true;
}

/// Gives the certificates of `text` to `context`, the first one as the server's own. Returns what
/// is wrong; empty: nothing.
std::string UseCertificates(SSL_CTX* context, OSSL_LIB_CTX* library, const std::string& text) {
  const Owned<BIO> memory = Memory(text);
  for (int number = 0;; ++number) {
    X509* read = X509_new_ex(library, nullptr);
    if (PEM_read_bio_X509(memory.get(), &read, nullptr, nullptr) == nullptr) {
      X509_free(read);
      return number == 0 ? "there is no certificate in PEM format" : "";
    }
    const Owned<X509> certificate(read);
    const bool used = number == 0 ? SSL_CTX_use_certificate(context, read) == 1
                                  : SSL_CTX_add1_chain_cert(context, read) == 1;
    if (!used) return absl::StrCat("certificate ", number + 1, " cannot be used");
  }
}

}  // namespace

// In a library context of its own, so that SetUpTls() takes no algorithm away. Session tickets are
// switched off: with them the secrecy of past connections would rest on one more key.
absl::StatusOr<std::unique_ptr<TlsServer>> TlsServer::CreateForBrowsers(
    const std::string& certificates_pem, const std::string& key_pem) {
  std::shared_ptr<OSSL_LIB_CTX> library(OSSL_LIB_CTX_new(), Freed());
  Owned<SSL_CTX> context(
      library == nullptr ? nullptr : SSL_CTX_new_ex(library.get(), nullptr, TLS_server_method()));
  if (!SetUpContext(context.get())) {
    ERR_clear_error();
    return absl::InternalError("OpenSSL makes no context for TLS 1.3");
  }
  SSL_CTX_set_num_tickets(context.get(), 0);
  const std::string wrong = UseCertificates(context.get(), library.get(), certificates_pem);
  // A key behind a passphrase is refused, since OpenSSL would ask for it in the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey_ex(
      Memory(key_pem).get(), nullptr, no_passphrase, nullptr, library.get(), nullptr));
  const bool fits = wrong.empty() && key != nullptr &&
                    SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                    SSL_CTX_check_private_key(context.get()) == 1;
  ERR_clear_error();
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  if (key == nullptr) {
    return absl::InvalidArgumentError("there is no private key in PEM format without a passphrase");
  }
  if (!fits) return absl::InvalidArgumentError("the key is not the certificate's");
  // OpenSSL keeps state of this thread for the library, which another thread may free: at this
  // thread's end OpenSSL would use it all the same.
  OPENSSL_thread_stop_ex(library.get());
  return std::make_unique<OpenSslServer>(std::move(context), std::move(library));
}

absl::StatusOr<std::unique_ptr<TlsServer>> TlsServer::Create(const Credentials& credentials) {
  SetUpTls();
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (!SetUpContext(context.get())) {
    ERR_clear_error();
    return absl::InternalError("OpenSSL makes no context for TLS 1.3");
  }
  const Owned<X509> certificate(
      PEM_read_bio_X509(Memory(credentials.certificate_pem).get(), nullptr, nullptr, nullptr));
  const Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Memory(credentials.key_pem).get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr || key == nullptr ||
      SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the credentials hold no certificate with its key");
  }
  return std::make_unique<OpenSslServer>(std::move(context));
}

}  // namespace tony::rpc
