// The old algorithms that DIGEST-MD5 is made of: MD5, HMAC-MD5, triple DES, RC4.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct evp_cipher_ctx_st;

namespace tony::hadoop {

/// MD5 of `data`, 16 bytes. OpenSSL's algorithms are fetched into a context of their own: the
/// process's default one may offer fewer. Empty where OpenSSL refuses, see CheckLegacyCrypto();
/// thread safe.
std::string Md5(const std::string& data);
/// HMAC-MD5 (RFC 2104), 16 bytes. As Md5.
std::string HmacMd5(const std::string& key, const std::string& data);
/// FailedPrecondition – OpenSSL does not give MD5 or triple DES here, as in FIPS mode.
absl::Status CheckLegacyCrypto();

/// A cipher with its state, one for each direction: each call goes on where the last one ended.
/// Not thread safe.
class StreamCipher {
 public:
  virtual ~StreamCipher() = default;
  /// `data` encrypted or decrypted, of the same length, a multiple of block_bytes().
  /// Internal – OpenSSL refuses.
  virtual absl::StatusOr<std::string> Process(const std::string& data) = 0;
  /// 1 for RC4, 8 for DES.
  virtual size_t block_bytes() const = 0;
};

enum class Direction { kEncrypt, kDecrypt };

/// RC4, which OpenSSL 3 has only in a module that may not be installed. Not thread safe.
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

/// Triple DES with two keys, CBC, made from 16 bytes as RFC 2831 says. Not thread safe.
class TripleDes : public StreamCipher {
 public:
  /// `key`: the 16 bytes of DIGEST-MD5's Kcc or Kcs. FailedPrecondition – as CheckLegacyCrypto.
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
