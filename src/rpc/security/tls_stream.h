// The server's side of TLS on a socket that does not block, for peers that have no certificate.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/byte_stream.h"
#include "os/files/unique_fd.h"
#include "rpc/security/credentials.h"

namespace tony::rpc {

/// Encrypts connections with TLS 1.3 and shows the certificate of `credentials`. It asks no peer
/// for a certificate, so whoever uses it must know its peers by other means, such as a token that
/// they send. Not thread safe: belongs to one event loop, with all its streams.
class TlsServer {
 public:
  /// InvalidArgument – the credentials hold no certificate with its key. Internal – OpenSSL's
  /// error.
  static absl::StatusOr<std::unique_ptr<TlsServer>> Create(const Credentials& credentials);
  /// For browsers, which know the server by a certificate that an authority of theirs has signed:
  /// all algorithms of OpenSSL may be used, RSA among them. `certificates_pem`: the server's own
  /// certificate, and behind it those of the authorities between it and the browsers' own.
  /// InvalidArgument – one of both texts cannot be read, or the key is another certificate's.
  /// Internal – OpenSSL's error.
  static absl::StatusOr<std::unique_ptr<TlsServer>> CreateForBrowsers(
      const std::string& certificates_pem, const std::string& key_pem);
  virtual ~TlsServer() = default;

  /// The handshake takes place within the stream's first calls. `socket` does not block. Null if
  /// OpenSSL has no memory left. The stream may outlive this object.
  virtual std::unique_ptr<ByteStream> Accept(os::UniqueFd socket) = 0;
  /// Does the same for a socket that somebody else owns and that outlives the stream.
  virtual std::unique_ptr<ByteStream> Wrap(int socket) = 0;
};

}  // namespace tony::rpc
