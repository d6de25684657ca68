// Tests which offer is taken, and which servers are refused.
#include "hadoop/auth/sasl_negotiation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::hadoop {
namespace {

using ::testing::HasSubstr;
using Message = SaslNegotiation::Message;

constexpr char kChallenge[] = R"(realm="default",nonce="n",qop="auth",algorithm=md5-sess)";

Message::SaslAuth Auth(const std::string& method, const std::string& mechanism,
                       const std::string& protocol, const std::string& server,
                       const std::string& challenge = "") {
  Message::SaslAuth auth;
  auth.set_method(method);
  auth.set_mechanism(mechanism);
  auth.set_protocol(protocol);
  auth.set_serverid(server);
  auth.set_challenge(challenge);
  return auth;
}

Message Offers(const std::vector<Message::SaslAuth>& auths) {
  Message message;
  message.set_state(Message::NEGOTIATE);
  for (const auto& auth : auths) *message.add_auths() = auth;
  return message;
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(SaslNegotiation, TakesTheTokenAmongTheOffers) {
  SaslNegotiation negotiation({.token = Token{.identifier = "i"}}, "host");
  const auto answer =
      negotiation.OnMessage(Offers({Auth("KERBEROS", "GSSAPI", "rm", "host"),
                                    Auth("TOKEN", "DIGEST-MD5", "", "default", kChallenge)}));
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ((*answer)->state(), Message::INITIATE);
  ASSERT_EQ((*answer)->auths_size(), 1);
  EXPECT_EQ((*answer)->auths(0).method(), "TOKEN");
  EXPECT_FALSE((*answer)->auths(0).has_challenge());
  EXPECT_THAT((*answer)->token(), HasSubstr("digest-uri=\"/default\""));
  EXPECT_FALSE(negotiation.succeeded());
}

TEST(SaslNegotiation, RefusesAServerOfAnotherName) {
  SaslNegotiation negotiation({.kerberos = true, .server_principal = "rm/_HOST@REALM"}, "Host1");
  const auto answer = negotiation.OnMessage(Offers({Auth("KERBEROS", "GSSAPI", "rm", "host2")}));
  EXPECT_TRUE(absl::IsPermissionDenied(answer.status()));
  EXPECT_THAT(Text(answer.status()),
              HasSubstr("calls itself rm/host2, but the configuration says rm/host1@REALM"));
}

TEST(SaslNegotiation, SaysWhatThereIsAndWhatIsWanted) {
  SaslNegotiation with_ticket({.kerberos = true}, "h");
  EXPECT_THAT(Text(with_ticket.OnMessage(Offers({Auth("TOKEN", "DIGEST-MD5", "", "")})).status()),
              HasSubstr("wants authentication by TOKEN, and there is a Kerberos ticket"));
  SaslNegotiation with_token({.token = Token{.kind = "K"}}, "h");
  EXPECT_THAT(Text(with_token.OnMessage(Offers({})).status()), HasSubstr("by nothing"));
}

TEST(SaslNegotiation, NothingIsTakenOutOfTurn) {
  for (const auto state : {Message::SUCCESS, Message::CHALLENGE, Message::INITIATE,
                           Message::RESPONSE, Message::WRAP}) {
    SaslNegotiation negotiation({.token = Token{}}, "h");
    Message message;
    message.set_state(state);
    EXPECT_TRUE(absl::IsDataLoss(negotiation.OnMessage(message).status())) << state;
  }
  SaslNegotiation negotiation({.token = Token{}}, "h");
  const Message offers = Offers({Auth("TOKEN", "DIGEST-MD5", "", "default", kChallenge)});
  ASSERT_TRUE(negotiation.OnMessage(offers).ok());
  EXPECT_TRUE(absl::IsDataLoss(negotiation.OnMessage(offers).status()));
}

}  // namespace
}  // namespace tony::hadoop
