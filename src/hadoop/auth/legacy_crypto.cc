// OpenSSL computes MD5 and triple DES, in a library context of their own; RC4 and HMAC are written
// here, since OpenSSL 3 has RC4 only in its legacy module and HMAC is two hashes.
#include "hadoop/auth/legacy_crypto.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <bit>
#include <numeric>
#include <utility>

#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr size_t kMd5Bytes = 16;
constexpr size_t kHmacBlockBytes = 64;

/// The fetched algorithms, null where OpenSSL offers none. Made once and never freed. Thread safe.
struct Algorithms {
  EVP_MD* md5 = nullptr;
  EVP_CIPHER* triple_des = nullptr;
};

const Algorithms& TheAlgorithms() {
  static const Algorithms algorithms = [] {
    Algorithms made;
    // The process's default context offers only what tony's TLS needs, so a fetch there would fail.
    OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
    if (library != nullptr) {
      made.md5 = EVP_MD_fetch(library, "MD5", nullptr);
      made.triple_des = EVP_CIPHER_fetch(library, "DES-EDE-CBC", nullptr);
    }
    ERR_clear_error();
    return made;
  }();
  return algorithms;
}

// Expands 7 key bytes to the 8 of a DES key: each byte holds 7 bits of the key, and its lowest bit
// makes the parity odd.
std::string WithParity(const std::string& seven) {
  uint64_t bits = 0;
  for (const char byte : seven) bits = bits << 8 | static_cast<uint8_t>(byte);
  std::string key;
  for (int group = 7; group >= 0; --group) {
    const auto byte = static_cast<uint8_t>((bits >> (7 * group) & 0x7f) << 1);
    key.push_back(static_cast<char>(byte | (std::popcount(byte) % 2 == 0 ? 1 : 0)));
  }
  return key;
}

const uint8_t* Bytes(const std::string& text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

uint8_t* Bytes(std::string& text) { return reinterpret_cast<uint8_t*>(text.data()); }

}  // namespace

std::string Md5(const std::string& data) {
  const EVP_MD* const md5 = TheAlgorithms().md5;
  std::string digest(kMd5Bytes, '\0');
  if (md5 == nullptr ||
      EVP_Digest(data.data(), data.size(), Bytes(digest), nullptr, md5, nullptr) != 1) {
    return "";
  }
  return digest;
}

// HMAC by its definition (RFC 2104). OpenSSL's EVP_MAC would have to be fetched and configured for
// each key.
std::string HmacMd5(const std::string& key, const std::string& data) {
  std::string inner = key.size() > kHmacBlockBytes ? Md5(key) : key;
  inner.resize(kHmacBlockBytes, '\0');
  std::string outer = inner;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return Md5(outer + Md5(inner + data));
}

absl::Status CheckLegacyCrypto() {
  if (TheAlgorithms().md5 != nullptr && TheAlgorithms().triple_des != nullptr) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "OpenSSL offers no MD5 or triple DES here, which Hadoop's tokens need; turn its FIPS mode "
      "off "
      "for this program");
}

// RC4's key scheduling; Process() is its pseudo-random generation. RFC 2831 discards no bytes of
// the key stream.
Rc4::Rc4(const std::string& key) {
  std::iota(state_.begin(), state_.end(), 0);
  uint8_t j = 0;
  for (size_t i = 0; i < state_.size(); ++i) {
    j = static_cast<uint8_t>(j + state_[i] + static_cast<uint8_t>(key[i % key.size()]));
    std::swap(state_[i], state_[j]);
  }
}

absl::StatusOr<std::string> Rc4::Process(const std::string& data) {
  std::string result = data;
  for (char& byte : result) {
    j_ = static_cast<uint8_t>(j_ + state_[++i_]);
    std::swap(state_[i_], state_[j_]);
    byte = static_cast<char>(byte ^ state_[static_cast<uint8_t>(state_[i_] + state_[j_])]);
  }
  return result;
}

absl::StatusOr<std::unique_ptr<StreamCipher>> TripleDes::Create(const std::string& key,
                                                                Direction direction) {
  TONY_RETURN_IF_ERROR(CheckLegacyCrypto());
  // RFC 2831, 2.4: the first 14 bytes are the two DES keys, and the last 8 the initialization
  // vector; they overlap.
  const std::string keys = WithParity(key.substr(0, 7)) + WithParity(key.substr(7, 7));
  const std::string start = key.substr(8, 8);
  auto cipher = std::unique_ptr<TripleDes>(new TripleDes(EVP_CIPHER_CTX_new()));
  if (cipher->context_ == nullptr ||
      EVP_CipherInit_ex2(cipher->context_, TheAlgorithms().triple_des, Bytes(keys), Bytes(start),
                         direction == Direction::kEncrypt ? 1 : 0, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(cipher->context_, 0) != 1) {
    return absl::FailedPreconditionError("OpenSSL refuses triple DES");
  }
  return std::unique_ptr<StreamCipher>(std::move(cipher));
}

TripleDes::~TripleDes() { EVP_CIPHER_CTX_free(context_); }

// EVP_CipherFinal is never called: the CBC chain goes on from one message to the next.
absl::StatusOr<std::string> TripleDes::Process(const std::string& data) {
  std::string result(data.size(), '\0');
  int length = 0;
  if (EVP_CipherUpdate(context_, Bytes(result), &length, Bytes(data),
                       static_cast<int>(data.size())) != 1 ||
      static_cast<size_t>(length) != data.size()) {
    return absl::InternalError("OpenSSL refuses to go on with triple DES");
  }
  return result;
}

}  // namespace tony::hadoop
