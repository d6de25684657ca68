// Who is believed, and who is not, without a connection.
#include "collective/net/net_handshake.h"

#include <gtest/gtest.h>

#include <string>

namespace tony::collective {
namespace {

constexpr NetChannel kChannel = {
    .acceptor = 1, .connector = 3, .ranks = 5, .number = 2, .streams = 2};

class NetHandshakeTest : public ::testing::Test {
 protected:
  static NetHandshake::Number New() {
    auto number = NetHandshake::NewNumber();
    EXPECT_TRUE(number.ok());
    return *number;
  }
  std::string Answer(const NetHandshake& connector, const NetChannel& channel = kChannel) const {
    return connector.Answer(channel, New(), challenge_);
  }

  const NetHandshake::Number challenge_ = New();
  const NetHandshake acceptor_{"secret", "run"};
};

TEST_F(NetHandshakeTest, BothAreSure) {
  const NetHandshake connector("secret", "run");
  const auto read = NetHandshake::ReadChallenge(NetHandshake::Challenge(challenge_));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, challenge_);
  const std::string answer = Answer(connector);
  EXPECT_EQ(answer.size(), NetHandshake::kAnswerBytes);
  const auto channel = acceptor_.Check(answer, challenge_, 1);
  ASSERT_TRUE(channel.has_value());
  EXPECT_EQ(channel->connector, 3);
  EXPECT_EQ(channel->ranks, 5);
  EXPECT_EQ(channel->number, 2U);
  EXPECT_EQ(channel->streams, 2U);
  EXPECT_TRUE(connector.IsAcceptance(acceptor_.Acceptance(answer, challenge_), answer, challenge_));
}

TEST_F(NetHandshakeTest, WhoDoesNotKnowTheSecretIsNotBelieved) {
  for (const auto& [secret, run] : {std::pair{"Secret", "run"}, {"", "run"}, {"secret", "ran"}}) {
    const NetHandshake stranger(secret, run);
    EXPECT_FALSE(acceptor_.Check(Answer(stranger), challenge_, 1).has_value());
    const std::string answer = Answer(acceptor_);
    EXPECT_FALSE(
        acceptor_.IsAcceptance(stranger.Acceptance(answer, challenge_), answer, challenge_));
  }
}

TEST_F(NetHandshakeTest, WhatWasHeardFitsNoOtherConnection) {
  const std::string answer = Answer(acceptor_);
  const auto other = New();
  EXPECT_NE(other, challenge_);
  EXPECT_FALSE(acceptor_.Check(answer, other, 1).has_value());
  EXPECT_FALSE(acceptor_.Check(answer, challenge_, 2).has_value()) << "of another acceptor";
  EXPECT_FALSE(acceptor_.IsAcceptance(acceptor_.Acceptance(answer, other), answer, challenge_));
}

/// Whoever asks a rank for its proof cannot show it as its own.
TEST_F(NetHandshakeTest, AProofIsOfOneSideOnly) {
  const std::string answer = Answer(acceptor_);
  const std::string proof = answer.substr(answer.size() - NetHandshake::kAcceptanceBytes);
  EXPECT_FALSE(acceptor_.IsAcceptance(proof, answer, challenge_));
  EXPECT_FALSE(acceptor_.IsAcceptance(NetHandshake::Refusal(), answer, challenge_));
}

TEST_F(NetHandshakeTest, EachBitOfAnAnswerCounts) {
  const std::string answer = Answer(acceptor_);
  for (size_t bit = 0; bit < answer.size() * 8; ++bit) {
    std::string changed = answer;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(acceptor_.Check(changed, challenge_, 1).has_value()) << bit;
  }
  for (size_t size = 0; size < answer.size(); ++size) {
    EXPECT_FALSE(acceptor_.Check(answer.substr(0, size), challenge_, 1).has_value()) << size;
  }
}

TEST_F(NetHandshakeTest, GarbageIsNoChallenge) {
  const std::string challenge = NetHandshake::Challenge(challenge_);
  EXPECT_FALSE(NetHandshake::ReadChallenge("").has_value());
  EXPECT_FALSE(NetHandshake::ReadChallenge(challenge.substr(1)).has_value());
  EXPECT_FALSE(NetHandshake::ReadChallenge(std::string(challenge.size(), 'x')).has_value());
}

/// Not even as a part of what is sent.
TEST_F(NetHandshakeTest, TheSecretIsNotSent) {
  const std::string secret = "a secret that would be seen";
  const NetHandshake rank(secret, "run");
  const std::string answer = rank.Answer(kChannel, New(), challenge_);
  EXPECT_EQ((answer + rank.Acceptance(answer, challenge_)).find(secret.substr(0, 8)),
            std::string::npos);
}

}  // namespace
}  // namespace tony::collective
