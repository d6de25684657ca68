// The server's side of DIGEST-MD5, made of the same digests and ciphers with the directions
// exchanged.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/big_endian.h"
#include "hadoop/auth/digest_challenge.h"
#include "hadoop/auth/digest_md5.h"
#include "hadoop/auth/legacy_crypto.h"

namespace tony::hadoop {

/// The layer after authentication. Not thread safe.
class DigestServerLayer {
 public:
  /// `cipher`: "3des", "rc4", or empty for integrity only.
  DigestServerLayer(const std::string& session, const std::string& cipher)
      : session_(session), cipher_(cipher) {
    const std::string in = Key("H(A1) to client-to-server sealing");
    const std::string out = Key("H(A1) to server-to-client sealing");
    if (cipher == "rc4") {
      in_ = std::make_unique<Rc4>(in);
      out_ = std::make_unique<Rc4>(out);
    } else if (cipher == "3des") {
      in_ = *TripleDes::Create(in, Direction::kDecrypt);
      out_ = *TripleDes::Create(out, Direction::kEncrypt);
    }
  }

  std::string Wrap(const std::string& plain) {
    const std::string sequence = BigEndian(sent_++);
    const std::string key = Key("session key to server-to-client signing");
    const size_t padding = cipher_ == "3des" ? 8 - (plain.size() + 10) % 8 : 0;
    const std::string message = plain + std::string(padding, static_cast<char>(padding)) +
                                HmacMd5(key, sequence + plain).substr(0, 10);
    return (out_ == nullptr ? message : *out_->Process(message)) + std::string("\0\1", 2) +
           sequence;
  }

  std::string Unwrap(const std::string& wrapped) {
    const std::string message = wrapped.substr(0, wrapped.size() - 6);
    const std::string plain = in_ == nullptr ? message : *in_->Process(message);
    const std::string text = plain.substr(0, plain.size() - 10);
    const size_t padding = cipher_ == "3des" ? static_cast<size_t>(text.back()) : 0;
    const std::string key = Key("session key to client-to-server signing");
    std::string result = text.substr(0, text.size() - padding);
    EXPECT_EQ(plain.substr(plain.size() - 10),
              HmacMd5(key, wrapped.substr(wrapped.size() - 4) + result).substr(0, 10));
    return result;
  }

 private:
  std::string Key(const std::string& purpose) const {
    return Md5(absl::StrCat(session_, "Digest ", purpose, " key magic constant"));
  }

  const std::string session_;
  const std::string cipher_;
  std::unique_ptr<StreamCipher> in_;
  std::unique_ptr<StreamCipher> out_;
  uint32_t sent_ = 0;
};

/// A server's first message. `protections` and `ciphers` are the offer, e.g. "auth,auth-conf" and
/// "rc4".
inline std::string DigestOffer(const std::string& protections, const std::string& ciphers) {
  return absl::StrCat(R"(realm="default",nonce="n0",qop=")", protections, R"(",cipher=")", ciphers,
                      R"(",charset=utf-8,algorithm=md5-sess)");
}

/// One authentication of the holder of `token`. Not thread safe.
class DigestServer {
 public:
  /// As DigestOffer.
  DigestServer(const Token& token, const std::string& protections, const std::string& ciphers)
      : identity_(DigestIdentityOf(token, "", "default")),
        challenge_(DigestOffer(protections, ciphers)) {}

  const std::string& challenge() const { return challenge_; }

  /// The server's proof; empty when the answer is not that of the token's holder.
  std::string Accept(const std::string& answer) {
    auto pairs = *ParseDigestPairs(answer);
    session_ =
        Md5(absl::StrCat(Md5(absl::StrCat(pairs["username"][0], ":default:", identity_.password)),
                         ":n0:", pairs["cnonce"][0]));
    const std::string protection = pairs["qop"][0];
    const auto response = [&](const std::string& method) {
      const std::string a2 =
          absl::StrCat(method, ":", identity_.service,
                       protection == "auth" ? "" : ":00000000000000000000000000000000");
      const auto hex = [](const std::string& text) { return absl::BytesToHexString(Md5(text)); };
      return hex(absl::StrCat(absl::BytesToHexString(session_), ":n0:00000001:", pairs["cnonce"][0],
                              ":", protection, ":", hex(a2)));
    };
    if (pairs["username"][0] != identity_.user ||
        response("AUTHENTICATE") != pairs["response"][0]) {
      return "";
    }
    if (protection != "auth") {
      layer_ = std::make_unique<DigestServerLayer>(
          session_, protection == "auth-int" ? "" : pairs["cipher"][0]);
    }
    return absl::StrCat("rspauth=", response(""));
  }

  /// Null until one was agreed on.
  DigestServerLayer* layer() { return layer_.get(); }

 private:
  const DigestIdentity identity_;
  const std::string challenge_;
  std::string session_;
  std::unique_ptr<DigestServerLayer> layer_;
};

}  // namespace tony::hadoop
