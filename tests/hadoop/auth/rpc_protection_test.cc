// A connection with a token, against a server that protects and one that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hadoop/rpc/rpc_connection.h"
#include "tests/hadoop/auth/digest_server.h"
#include "tests/hadoop/fakes/fake_server.h"

namespace tony::hadoop {
namespace {

using ::testing::HasSubstr;
using SaslMessage = ::hadoop::common::RpcSaslProto;
using Header = ::hadoop::common::RpcResponseHeaderProto;

constexpr Duration kTimeout = std::chrono::seconds(20);

std::string SaslFrame(const SaslMessage& message) {
  Header header;
  header.set_callid(static_cast<uint32_t>(-33));
  header.set_status(Header::SUCCESS);
  return EncodeFrame({&header, &message});
}

std::string SaslFrame(SaslMessage::SaslState state, const std::string& token) {
  SaslMessage message;
  message.set_state(state);
  message.set_token(token);
  return SaslFrame(message);
}

/// The test sets the server's offer and its later behaviour.
class RpcProtectionTest : public testing::Test {
 protected:
  // One call with `request`, which the server answers with the same.
  absl::StatusOr<std::string> Call(const std::string& request, Token with) {
    FakeServer server(loop_, [this](const std::string& frame) { return OnFrame(frame); });
    RpcConnection connection(loop_, server.endpoint(), "p",
                             {.token = std::move(with), .protection = required_}, {},
                             [](const auto&) {});
    absl::StatusOr<std::string> result = absl::CancelledError();
    connection.Call("method", request, kTimeout, [&](auto answer) {
      result = std::move(answer);
      loop_.Stop();
    });
    loop_.Run();
    return result;
  }

  void Offer(const std::string& protections, const std::string& ciphers) {
    digest_ = std::make_unique<DigestServer>(token_, protections, ciphers);
  }

  std::string OnFrame(const std::string& frame) {
    const ClientFrame read(frame);
    switch (read.sasl.state()) {
      case SaslMessage::NEGOTIATE:
        return OfferFrame();
      case SaslMessage::INITIATE: {
        ++initiated_;
        const std::string proof = digest_->Accept(read.sasl.token());
        return proof.empty() ? ErrorFrame(-33, "javax.security.sasl.SaslException", true)
                             : SaslFrame(SaslMessage::SUCCESS, proof);
      }
      case SaslMessage::WRAP:
        ++wrapped_;
        return OnStream(digest_->layer()->Unwrap(read.sasl.token()));
      default:
        return read.header.callid() < 0 ? "" : AnswerFrame(read.header.callid(), read.body);
    }
  }

  std::string OfferFrame() {
    SaslMessage offer;
    offer.set_state(SaslMessage::NEGOTIATE);
    auto* const token = offer.add_auths();
    token->set_method("TOKEN");
    token->set_mechanism("DIGEST-MD5");
    token->set_protocol("");
    token->set_serverid("default");
    token->set_challenge(digest_->challenge());
    return SaslFrame(offer);
  }

  std::string OnStream(const std::string& plain) {
    stream_.Append(plain.data(), plain.size());
    std::string answers;
    for (auto frame = stream_.Next(); frame->has_value(); frame = stream_.Next()) {
      const ClientFrame read(**frame);
      if (read.header.callid() < 0) continue;
      const std::string answer = AnswerFrame(read.header.callid(), read.body);
      answers += answer_in_the_clear_
                     ? answer
                     : SaslFrame(SaslMessage::WRAP, Changed(digest_->layer()->Wrap(answer)));
    }
    return answers;
  }

  std::string Changed(std::string wrapped) const {
    if (change_answer_) wrapped[wrapped.size() / 2] ^= 1;
    return wrapped;
  }

  EventLoop loop_;
  const Token token_{.identifier = "id", .password = "secret"};
  std::unique_ptr<DigestServer> digest_;
  FrameReader stream_{1 << 24, "Hadoop\'s RPC"};
  bool answer_in_the_clear_ = false;
  bool change_answer_ = false;
  RequiredProtection required_;
  int wrapped_ = 0;
  int initiated_ = 0;
};

TEST_F(RpcProtectionTest, CarriesCallsUnderEachProtection) {
  const std::string large(300'000, 'x');
  for (const auto& [protections, ciphers] : {std::pair("auth", ""),
                                             {"auth,auth-int", ""},
                                             {"auth-conf", "rc4"},
                                             {"auth-conf", "3des"}}) {
    for (const std::string& request : {std::string("request"), large}) {
      Offer(protections, ciphers);
      const auto answer = Call(request, token_);
      ASSERT_TRUE(answer.ok()) << protections << ": " << answer.status();
      EXPECT_EQ(*answer, request) << protections;
    }
  }
}

// An attacker between client and server can reduce the offer, because nothing authenticates it.
TEST_F(RpcProtectionTest, AServerThatOffersLessThanIsRequiredIsToldNothing) {
  required_ = {Protection::kPrivacy, "hadoop.rpc.protection = privacy (core-site.xml:3)"};
  for (const char* const protections : {"auth", "auth,auth-int"}) {
    Offer(protections, "");
    const auto answer = Call("request", token_);
    EXPECT_TRUE(absl::IsPermissionDenied(answer.status())) << answer.status();
    EXPECT_THAT(std::string(answer.status().message()),
                HasSubstr(absl::StrCat("the server offers only ", protections,
                                       ", less than hadoop.rpc.protection = privacy "
                                       "(core-site.xml:3) asks for")));
  }
  EXPECT_EQ(initiated_, 0);
  Offer("auth,auth-int,auth-conf", "3des");
  EXPECT_EQ(Call("request", token_).value_or(""), "request");
  EXPECT_GT(wrapped_, 0);
  required_.minimum = Protection::kIntegrity;
  Offer("auth,auth-int", "");
  EXPECT_EQ(Call("request", token_).value_or(""), "request");
}

TEST_F(RpcProtectionTest, WrapsNoMoreThanTheServerTakes) {
  Offer("auth-int", "");
  ASSERT_TRUE(Call(std::string(300'000, 'x'), token_).ok());
  EXPECT_EQ(wrapped_, 5);  // pieces below 64 KiB
}

TEST_F(RpcProtectionTest, ATokenWithAnotherPasswordIsRefused) {
  Offer("auth", "");
  const auto answer = Call("request", {.identifier = "id", .password = "guess"});
  EXPECT_TRUE(absl::IsUnauthenticated(answer.status())) << answer.status();
}

TEST_F(RpcProtectionTest, NothingUnprotectedIsTakenOnceProtectionIsAgreedOn) {
  Offer("auth-conf", "3des");
  answer_in_the_clear_ = true;
  const auto answer = Call("request", token_);
  EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("is not protected"));
}

TEST_F(RpcProtectionTest, AChangedAnswerIsAnError) {
  for (const auto& [protections, ciphers] :
       {std::pair("auth-int", ""), {"auth-conf", "rc4"}, {"auth-conf", "3des"}}) {
    Offer(protections, ciphers);
    change_answer_ = true;
    const auto answer = Call("request", token_);
    EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
  }
}

}  // namespace
}  // namespace tony::hadoop
