// The formulas are those of RFC 2831: 2.1.2.1 for the exchange, 2.3 for integrity, 2.4 for
// encryption.
#include "hadoop/auth/digest_md5.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/big_endian.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr char kNonceCount[] = "00000001";  // each connection gets a nonce of its own
constexpr size_t kCodeBytes = 10;           // RFC 2831, 2.3: the first 10 bytes of the HMAC
constexpr size_t kTrailerBytes = 6;         // version of two bytes, sequence number of four
constexpr char kVersion[] = {0, 1};
constexpr size_t kLargestPadding = 8;
constexpr size_t kRandomBytes = 24;

const char* NameOf(Protection protection) {
  switch (protection) {
    case Protection::kAuthentication:
      return "auth";
    case Protection::kIntegrity:
      return "auth-int";
    case Protection::kPrivacy:
      return "auth-conf";
  }
  return "auth";
}

// Compares in constant time, so that timing tells nothing about the expected code. Empty strings
// are unequal: Md5() returns one when OpenSSL refuses, and a failure must not pass as a proof.
bool SameSecret(const std::string& a, const std::string& b) {
  return !a.empty() && a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string HexMd5(const std::string& data) { return absl::BytesToHexString(Md5(data)); }

// The message authentication code of RFC 2831, 2.3. The sequence number is part of it, so that
// replayed and reordered messages fail the check.
std::string Code(const std::string& key, const std::string& sequence, const std::string& plain) {
  return HmacMd5(key, sequence + plain).substr(0, kCodeBytes);
}

}  // namespace

DigestIdentity DigestIdentityOf(const Token& token, const std::string& protocol,
                                const std::string& server_id) {
  std::string random(kRandomBytes, '\0');
  // A failure leaves the cnonce empty, and Start() refuses an empty one.
  if (RAND_bytes(reinterpret_cast<uint8_t*>(random.data()), kRandomBytes) != 1) random.clear();
  return {.user = absl::Base64Escape(token.identifier),
          .password = absl::Base64Escape(token.password),
          .service = absl::StrCat(protocol, "/", server_id),
          .cnonce = absl::Base64Escape(random)};
}

absl::StatusOr<std::unique_ptr<DigestLayer>> DigestLayer::Create(const std::string& session,
                                                                 const std::string& cipher) {
  auto layer = std::unique_ptr<DigestLayer>(new DigestLayer());
  layer->send_key_ =
      Md5(session + "Digest session key to client-to-server signing key magic constant");
  layer->receive_key_ =
      Md5(session + "Digest session key to server-to-client signing key magic constant");
  if (cipher.empty()) return layer;
  // RFC 2831, 2.4: "3des" and "rc4" use all 16 bytes of H(A1) here. The weakened ciphers, which use
  // fewer, are never chosen.
  const std::string send =
      Md5(session + "Digest H(A1) to client-to-server sealing key magic constant");
  const std::string receive =
      Md5(session + "Digest H(A1) to server-to-client sealing key magic constant");
  if (cipher == "rc4") {
    layer->encryption_ = std::make_unique<Rc4>(send);
    layer->decryption_ = std::make_unique<Rc4>(receive);
    return layer;
  }
  TONY_ASSIGN_OR_RETURN(layer->encryption_, TripleDes::Create(send, Direction::kEncrypt));
  TONY_ASSIGN_OR_RETURN(layer->decryption_, TripleDes::Create(receive, Direction::kDecrypt));
  return layer;
}

absl::StatusOr<std::string> DigestLayer::Wrap(const std::string& plain) {
  const std::string sequence = BigEndian(sent_++);
  std::string message = plain;
  // A block cipher encrypts whole blocks. The padding is 1 to 8 bytes that each hold its length; it
  // is there even when the blocks are full, so that the receiver can always remove it.
  if (encryption_ != nullptr && encryption_->block_bytes() > 1) {
    const size_t block = encryption_->block_bytes();
    const size_t padding = block - (plain.size() + kCodeBytes) % block;
    message.append(padding, static_cast<char>(padding));
  }
  message += Code(send_key_, sequence, plain);
  if (encryption_ != nullptr) {
    TONY_ASSIGN_OR_RETURN(message, encryption_->Process(message));
  }
  message.append(kVersion, sizeof(kVersion));
  return message + sequence;
}

absl::StatusOr<std::string> DigestLayer::Unwrap(const std::string& wrapped) {
  // Every failure returns the same status: an answer that tells wrong padding from a wrong code
  // would be a padding oracle.
  const absl::Status broken = absl::DataLossError(
      "protected data from the server is not what it sent: its code does not fit");
  if (wrapped.size() < kCodeBytes + kTrailerBytes) return broken;
  const std::string sequence = BigEndian(received_++);
  const std::string trailer = std::string(kVersion, sizeof(kVersion)) + sequence;
  std::string message = wrapped.substr(0, wrapped.size() - kTrailerBytes);
  if (wrapped.substr(message.size()) != trailer) return broken;
  size_t padding = 0;
  if (decryption_ != nullptr) {
    const size_t block = decryption_->block_bytes();
    if (message.size() % block != 0) return broken;
    TONY_ASSIGN_OR_RETURN(message, decryption_->Process(message));
    if (block > 1) {
      if (message.size() < kCodeBytes + 1) return broken;
      padding = static_cast<uint8_t>(message[message.size() - kCodeBytes - 1]);
      if (padding == 0 || padding > block || padding > message.size() - kCodeBytes) return broken;
    }
  }
  const std::string code = message.substr(message.size() - kCodeBytes);
  std::string plain = message.substr(0, message.size() - kCodeBytes - padding);
  if (!SameSecret(code, Code(receive_key_, sequence, plain))) return broken;
  return plain;
}

absl::Status DigestMd5::ChooseProtection(const DigestChallenge& challenge) {
  std::vector<Protection> usable;
  for (const Protection protection : {Protection::kAuthentication, Protection::kIntegrity}) {
    if (absl::c_linear_search(challenge.protections, NameOf(protection))) {
      usable.push_back(protection);
    }
  }
  std::string cipher;
  for (const char* const known : {"rc4", "3des"}) {  // the stronger cipher is last and wins
    if (absl::c_linear_search(challenge.ciphers, known)) cipher = known;
  }
  const bool encrypts = absl::c_linear_search(challenge.protections, NameOf(Protection::kPrivacy));
  if (encrypts && !cipher.empty()) usable.push_back(Protection::kPrivacy);
  const std::string ciphers = absl::StrJoin(challenge.ciphers, ",");
  TONY_ASSIGN_OR_RETURN(
      protection_,
      hadoop::ChooseProtection(usable, required_,
                               absl::StrCat(absl::StrJoin(challenge.protections, ","),
                                            encrypts ? absl::StrCat(" with ", ciphers) : "")));
  if (protection_ == Protection::kPrivacy) cipher_ = cipher;
  return absl::OkStatus();
}

// The response-value of RFC 2831, 2.1.2.1. `method` is "AUTHENTICATE" for the client's proof and
// empty for the server's.
std::string DigestMd5::Response(const std::string& method, const std::string& nonce) const {
  std::string a2 = absl::StrCat(method, ":", identity_.service);
  if (protection_ != Protection::kAuthentication) a2 += ":00000000000000000000000000000000";
  return HexMd5(absl::StrCat(absl::BytesToHexString(session_), ":", nonce, ":", kNonceCount, ":",
                             identity_.cnonce, ":", NameOf(protection_), ":", HexMd5(a2)));
}

absl::StatusOr<std::string> DigestMd5::Start(const std::string& text) {
  TONY_RETURN_IF_ERROR(CheckLegacyCrypto());
  if (identity_.cnonce.empty()) return absl::InternalError("OpenSSL gives no random numbers");
  TONY_ASSIGN_OR_RETURN(const DigestChallenge challenge, ParseDigestChallenge(text));
  TONY_RETURN_IF_ERROR(ChooseProtection(challenge));
  // session_ is H(A1) of RFC 2831, 2.1.2.1, without an authzid: the client acts as the token's
  // owner.
  session_ = Md5(
      absl::StrCat(Md5(absl::StrCat(identity_.user, ":", challenge.realm, ":", identity_.password)),
                   ":", challenge.nonce, ":", identity_.cnonce));
  expected_answer_ = Response("", challenge.nonce);
  // The server's limit includes code, padding and trailer. A maxbuf smaller than these still leaves
  // one byte, so that callers who split by MaxWrapBytes() make progress.
  max_wrap_bytes_ = challenge.max_bytes -
                    std::min(challenge.max_bytes - 1, kCodeBytes + kTrailerBytes + kLargestPadding);
  std::string answer = absl::StrCat(
      challenge.utf8 ? "charset=utf-8," : "", "username=", DigestQuoted(identity_.user),
      ",realm=", DigestQuoted(challenge.realm), ",nonce=", DigestQuoted(challenge.nonce),
      ",nc=", kNonceCount, ",cnonce=", DigestQuoted(identity_.cnonce),
      ",digest-uri=", DigestQuoted(identity_.service),
      ",response=", Response("AUTHENTICATE", challenge.nonce), ",qop=", NameOf(protection_));
  if (!cipher_.empty()) absl::StrAppend(&answer, ",cipher=", DigestQuoted(cipher_));
  return answer;
}

absl::StatusOr<std::string> DigestMd5::Answer(const std::string& /*challenge*/) {
  return absl::UnauthenticatedError(
      "the server asks for a second answer, which DIGEST-MD5 has not");
}

// Mutual authentication: the server's proof is checked before the first call is sent, since a call
// may carry secrets, and whoever answers at the address may be a stranger.
absl::Status DigestMd5::Finish(const std::string& token) {
  TONY_ASSIGN_OR_RETURN(const auto pairs, ParseDigestPairs(token));
  const auto answer = pairs.find("rspauth");
  if (session_.empty() || answer == pairs.end() ||
      !SameSecret(answer->second.front(), expected_answer_)) {
    return absl::UnauthenticatedError(
        "the server has not proved that it knows the token's password: it may be another server");
  }
  if (protection_ == Protection::kAuthentication) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(layer_, DigestLayer::Create(session_, cipher_));
  return absl::OkStatus();
}

absl::StatusOr<std::string> DigestMd5::Wrap(const std::string& plain) {
  return layer_ == nullptr ? plain : layer_->Wrap(plain);
}

absl::StatusOr<std::string> DigestMd5::Unwrap(const std::string& wrapped) {
  return layer_ == nullptr ? wrapped : layer_->Unwrap(wrapped);
}

}  // namespace tony::hadoop
