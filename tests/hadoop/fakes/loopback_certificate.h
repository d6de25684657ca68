// A certificate for a test's server on loopback, and a machine that trusts it.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <functional>
#include <string>

namespace tony::hadoop {

/// A certificate for 127.0.0.1 that is its own authority, with its key. Not thread safe.
class LoopbackCertificate {
 public:
  LoopbackCertificate();
  ~LoopbackCertificate();
  LoopbackCertificate(const LoopbackCertificate&) = delete;
  LoopbackCertificate& operator=(const LoopbackCertificate&) = delete;

  /// Writes the certificate, without its key, as PEM.
  void Write(const std::string& path) const;
  /// Copies certificate and key into `context`.
  void Use(SSL_CTX* context) const;

 private:
  void AddExtension(int kind, const char* value);

  EVP_PKEY* const key_;
  X509* const certificate_;
};

/// Runs `work` where libcurl trusts `certificate` and nobody else: on a thread that has a view of
/// its own of the file with the machine's authorities. False where that is not allowed.
bool RunTrusting(const LoopbackCertificate& certificate, const std::function<void()>& work);

}  // namespace tony::hadoop
