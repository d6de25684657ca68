// A browser's side of TLS, on the test's own thread.
#pragma once

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "common/byte_stream.h"
#include "os/files/unique_fd.h"

namespace tony::rpc {

/// One end of a pair of sockets; the other end is the server's. It trusts every certificate. Not
/// thread safe.
class TlsPeer {
 public:
  TlsPeer() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return;
    own_ = os::UniqueFd(ends[0]);
    servers_ = os::UniqueFd(ends[1]);
    library_.reset(OSSL_LIB_CTX_new());
    context_.reset(SSL_CTX_new_ex(library_.get(), nullptr, TLS_client_method()));
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), own_.get());
    SSL_set_connect_state(ssl_.get());
  }

  int servers_end() const { return servers_.get(); }
  SSL* ssl() { return ssl_.get(); }

  /// Shakes hands with `server`, over servers_end(). False: they do not come together.
  bool ShakeHands(ByteStream& server) {
    constexpr int kMostTurns = 20;
    char byte = 0;
    for (int turn = 0; turn < kMostTurns; ++turn) {
      if (SSL_do_handshake(ssl_.get()) == 1) {
        // The server reads the last message.
        return server.Read(&byte, 1).state == IoResult::State::kWantsRead;
      }
      ERR_clear_error();
      if (server.Read(&byte, 1).state == IoResult::State::kBroken) return false;
    }
    return false;
  }

  /// The certificate that the server has shown, as its encoding; empty: none.
  std::string ServersCertificate() const {
    X509* const shown = SSL_get1_peer_certificate(ssl_.get());
    unsigned char* bytes = nullptr;
    const int size = shown == nullptr ? 0 : i2d_X509(shown, &bytes);
    std::string encoded(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    OPENSSL_free(bytes);
    X509_free(shown);
    return encoded;
  }

 private:
  struct Freed {
    void operator()(OSSL_LIB_CTX* library) const { OSSL_LIB_CTX_free(library); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  os::UniqueFd own_, servers_;
  std::unique_ptr<OSSL_LIB_CTX, Freed> library_;
  std::unique_ptr<SSL_CTX, Freed> context_;
  std::unique_ptr<SSL, Freed> ssl_;
};

}  // namespace tony::rpc
