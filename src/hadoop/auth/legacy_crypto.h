// The outdated algorithms that DIGEST-MD5 prescribes: MD5, HMAC-MD5, triple DES, RC4.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct evp_cipher_ctx_st;

namespace tony::hadoop {

/// MD5 of `data`, 16 bytes; empty if OpenSSL refuses, see CheckLegacyCrypto(). OpenSSL's algorithms
/// are fetched into a library context of their own, since the process's default context may offer
/// fewer. Thread safe.
std::string Md5(const std::string& data);
/// HMAC-MD5 (RFC 2104), 16 bytes; empty if OpenSSL refuses. Thread safe.
std::string HmacMd5(const std::string& key, const std::string& data);
/// Checks that the algorithms are available. FailedPrecondition – OpenSSL has no MD5 or no triple
/// DES here, as in FIPS mode.
absl::Status CheckLegacyCrypto();

/// A cipher with its state, for one direction: each call continues where the last one ended. Not
/// thread safe.
class StreamCipher {
 public:
  virtual ~StreamCipher() = default;
  /// Encrypts or decrypts `data`, whose length is a multiple of block_bytes(). The result has the
  /// same length. Internal – OpenSSL refuses.
  virtual absl::StatusOr<std::string> Process(const std::string& data) = 0;
  /// 1 for RC4, 8 for DES.
  virtual size_t block_bytes() const = 0;
};

enum class Direction { kEncrypt, kDecrypt };

/// RC4, of our own, since OpenSSL 3 has it only in a module that may not be installed. Not thread
/// safe.
class Rc4 : public StreamCipher {
 public:
  /// `key`: 1 to 256 bytes.
  explicit Rc4(const std::string& key);
  absl::StatusOr<std::string> Process(const std::string& data) override;
  size_t block_bytes() const override { return 1; }

 private:
  std::array<uint8_t, 256> state_;
  uint8_t i_ = 0;
  uint8_t j_ = 0;
};

/// Triple DES with two keys in CBC mode; keys and initialization vector come from 16 bytes (RFC
/// 2831, 2.4). Not thread safe.
class TripleDes : public StreamCipher {
 public:
  /// `key`: the 16 bytes of DIGEST-MD5's Kcc or Kcs. FailedPrecondition – OpenSSL has no triple DES
  /// here, see CheckLegacyCrypto().
  static absl::StatusOr<std::unique_ptr<StreamCipher>> Create(const std::string& key,
                                                              Direction direction);
  ~TripleDes() override;
  absl::StatusOr<std::string> Process(const std::string& data) override;
  size_t block_bytes() const override { return 8; }

 private:
  explicit TripleDes(evp_cipher_ctx_st* context) : context_(context) {}

  evp_cipher_ctx_st* context_;
};

}  // namespace tony::hadoop
