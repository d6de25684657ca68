// SASL's mechanism DIGEST-MD5 (RFC 2831), by which the holder of a token authenticates to Hadoop's
// services.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hadoop/auth/digest_challenge.h"
#include "hadoop/auth/legacy_crypto.h"
#include "hadoop/auth/sasl_mechanism.h"
#include "hadoop/auth/token.h"

namespace tony::hadoop {

/// The names and secrets of one authentication. `user` and `password` are plain ASCII, as Base64
/// is, so no conversion between charsets is needed.
struct DigestIdentity {
  std::string user;
  std::string password;
  std::string service;  ///< "protocol/serverId" of the server's offer
  std::string cnonce;   ///< a random string that is never used again
};

/// The identity of a token's holder, with a fresh random cnonce.
DigestIdentity DigestIdentityOf(const Token& token, const std::string& protocol,
                                const std::string& server_id);

/// The security layer of auth-int and auth-conf: message authentication codes, sequence numbers,
/// encryption (RFC 2831, 2.3 and 2.4). Not thread safe.
class DigestLayer {
 public:
  /// `session`: H(A1), 16 bytes. `cipher`: "3des" or "rc4", or empty for integrity only. The codes
  /// of TripleDes::Create().
  static absl::StatusOr<std::unique_ptr<DigestLayer>> Create(const std::string& session,
                                                             const std::string& cipher);

  /// Returns `plain` with padding, code and sequence number. Internal – OpenSSL refuses.
  absl::StatusOr<std::string> Wrap(const std::string& plain);
  /// The reverse of the server's Wrap. DataLoss – changed, replayed, out of order, or too short.
  absl::StatusOr<std::string> Unwrap(const std::string& wrapped);

 private:
  DigestLayer() = default;

  std::string send_key_;
  std::string receive_key_;
  std::unique_ptr<StreamCipher> encryption_;  ///< null: integrity only
  std::unique_ptr<StreamCipher> decryption_;
  uint32_t sent_ = 0;
  uint32_t received_ = 0;
};

/// The client's side of the exchange. It prefers auth-conf to auth-int to auth, and triple DES to
/// RC4, and accepts no protection below `required`. Not thread safe.
class DigestMd5 : public SaslMechanism {
 public:
  explicit DigestMd5(DigestIdentity identity, RequiredProtection required = {})
      : identity_(std::move(identity)), required_(std::move(required)) {}

  absl::StatusOr<std::string> Start(const std::string& challenge) override;
  absl::StatusOr<std::string> Answer(const std::string& challenge) override;
  absl::Status Finish(const std::string& token) override;
  Protection protection() const override { return protection_; }
  size_t MaxWrapBytes() const override { return max_wrap_bytes_; }
  absl::StatusOr<std::string> Wrap(const std::string& plain) override;
  absl::StatusOr<std::string> Unwrap(const std::string& wrapped) override;

 private:
  absl::Status ChooseProtection(const DigestChallenge& challenge);
  std::string Response(const std::string& method, const std::string& nonce) const;

  const DigestIdentity identity_;
  const RequiredProtection required_;
  Protection protection_ = Protection::kAuthentication;
  std::string cipher_;           ///< the cipher of auth-conf; empty without it
  std::string session_;          ///< H(A1); empty before Start
  std::string expected_answer_;  ///< the rspauth that proves that the server knows the password
  size_t max_wrap_bytes_ = 0;
  std::unique_ptr<DigestLayer> layer_;
};

}  // namespace tony::hadoop
