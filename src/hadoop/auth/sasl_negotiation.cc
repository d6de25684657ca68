// The server's order of offers decides: the first one that the identity can use is taken. An
// identity with a token or a ticket never falls back to SIMPLE, which proves nothing about the
// server.
#include "hadoop/auth/sasl_negotiation.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/auth/digest_md5.h"
#include "hadoop/auth/kerberos.h"

namespace tony::hadoop {

using Message = SaslNegotiation::Message;

Message SaslNegotiation::Start() {
  Message message;
  message.set_state(Message::NEGOTIATE);
  return message;
}

absl::StatusOr<std::unique_ptr<SaslMechanism>> SaslNegotiation::MechanismFor(
    const Message::SaslAuth& offer) const {
  if (identity_.token.has_value() && offer.method() == "TOKEN" &&
      offer.mechanism() == "DIGEST-MD5") {
    return std::make_unique<DigestMd5>(
        DigestIdentityOf(*identity_.token, offer.protocol(), offer.serverid()),
        identity_.protection);
  }
  const bool by_kerberos = !identity_.token.has_value() && identity_.kerberos;
  if (!by_kerberos || offer.method() != "KERBEROS" || offer.mechanism() != "GSSAPI") return nullptr;
  // The offer names the server's principal, but nothing authenticates the offer. A configured
  // principal is therefore compared with it; else any service with a key in the realm could answer.
  // The offer has no realm, so the realm is left out of the comparison. "_HOST" becomes lower case
  // as in Hadoop's SecurityUtil.
  const std::string offered = absl::StrCat(offer.protocol(), "/", offer.serverid());
  const std::string expected =
      absl::StrReplaceAll(identity_.server_principal, {{"_HOST", absl::AsciiStrToLower(host_)}});
  const std::string expected_service = expected.substr(0, expected.find('@'));
  if (!expected.empty() && expected_service != offered) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the server calls itself ", offered, ", but the configuration says ", expected,
        ": correct its principal in the Hadoop configuration, or somebody else answers there"));
  }
  return MakeKerberosMechanism(expected.empty() ? offered : expected, identity_.protection);
}

absl::StatusOr<std::optional<Message>> SaslNegotiation::Choose(const Message& offers) {
  std::vector<std::string> names;
  for (const Message::SaslAuth& offer : offers.auths()) {
    names.push_back(offer.method());
    TONY_ASSIGN_OR_RETURN(mechanism_, MechanismFor(offer));
    if (mechanism_ == nullptr) {
      LogDebug("a way of authentication is passed over",
               {{"peer", host_}, {"method", offer.method()}, {"mechanism", offer.mechanism()}});
      continue;
    }
    TONY_ASSIGN_OR_RETURN(const std::string token, mechanism_->Start(offer.challenge()));
    Message answer;
    answer.set_state(Message::INITIATE);
    answer.set_token(token);
    // The server expects its chosen offer back, without the challenge.
    *answer.add_auths() = offer;
    answer.mutable_auths(0)->clear_challenge();
    return answer;
  }
  return absl::UnauthenticatedError(absl::StrCat(
      "the server wants authentication by ", names.empty() ? "nothing" : absl::StrJoin(names, ", "),
      ", and there is ",
      identity_.token.has_value() ? absl::StrCat("a token of kind ", identity_.token->kind)
                                  : "a Kerberos ticket"));
}

absl::StatusOr<std::optional<Message>> SaslNegotiation::OnMessage(const Message& message) {
  const absl::Status out_of_turn = absl::DataLossError(
      absl::StrCat("the server sends SASL state ", message.state(), " out of turn"));
  // No message is expected after SUCCESS. Without this check, a second NEGOTIATE would start a new
  // exchange once TakeMechanism() has moved the mechanism out.
  if (succeeded_) return out_of_turn;
  switch (message.state()) {
    case Message::NEGOTIATE:
      if (mechanism_ != nullptr) return out_of_turn;
      return Choose(message);
    case Message::CHALLENGE: {
      if (mechanism_ == nullptr) return out_of_turn;
      TONY_ASSIGN_OR_RETURN(const std::string token, mechanism_->Answer(message.token()));
      Message answer;
      answer.set_state(Message::RESPONSE);
      answer.set_token(token);
      return answer;
    }
    case Message::SUCCESS:
      if (mechanism_ == nullptr) return out_of_turn;
      TONY_RETURN_IF_ERROR(mechanism_->Finish(message.token()));
      succeeded_ = true;
      return std::nullopt;
    default:
      return out_of_turn;
  }
}

}  // namespace tony::hadoop
