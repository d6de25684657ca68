// The challenges and protected messages of DIGEST-MD5, of whoever answers as a Hadoop service: it
// has not proved itself yet.
//
// Besides not crashing: nothing in a challenge adds to our answer, which says each thing once and
// repeats the challenge's nonce; and without the password neither is the server believed to be the
// right one, nor a message to be the server's.
#include <string>

#include "absl/status/status.h"
#include "hadoop/auth/digest_challenge.h"
#include "hadoop/auth/digest_md5.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

const hadoop::DigestIdentity& Identity() {
  static const hadoop::DigestIdentity identity{"user", "password", "yarn/default", "cnonce"};
  return identity;
}

void CheckAnswer(const std::string& challenge, const std::string& answer) {
  const auto asked = hadoop::ParseDigestChallenge(challenge);
  Require(asked.ok(), "only a challenge that is one is answered");
  const auto pairs = hadoop::ParseDigestPairs(answer);
  Require(pairs.ok(), "an answer is well-formed");
  for (const auto& [name, values] : *pairs) {
    Require(values.size() == 1, "an answer says each thing once");
  }
  Require(pairs->at("username")[0] == "user" && pairs->at("cnonce")[0] == "cnonce" &&
              pairs->at("digest-uri")[0] == "yarn/default",
          "an answer says who we are, whatever the challenge says");
  Require(pairs->at("nonce")[0] == asked->nonce, "an answer repeats the nonce");
}

}  // namespace

void FuzzDigestMd5(std::string_view input) {
  InputReader reader(input);
  const bool encrypted = reader.Byte() % 2 == 1;
  const std::string wrapped = reader.Piece();
  const std::string proof = reader.Piece();
  const std::string challenge = reader.Rest();

  hadoop::DigestMd5 client(Identity());
  if (const auto answer = client.Start(challenge); answer.ok()) {
    CheckAnswer(challenge, *answer);
    Require(!client.Finish(proof).ok(), "a server without the password is not believed");
  }
  const auto layer = hadoop::DigestLayer::Create(std::string(16, 'k'), encrypted ? "rc4" : "");
  if (!layer.ok()) return;
  Require(absl::IsDataLoss((*layer)->Unwrap(wrapped).status()), "nobody else's message is taken");
}

}  // namespace tony::fuzz
