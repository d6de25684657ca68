// Tests which answers are believed, without a connection.
#include "collective/net/net_handshake.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tony::collective {
namespace {

constexpr NetChannel kChannel = {
    .acceptor = 1, .connector = 3, .ranks = 5, .number = 2, .streams = 2};

const std::vector<std::string> kAddresses = {"192.0.2.7 1", "192.0.2.7 2", "192.0.2.7 3",
                                             "192.0.2.7 4", "192.0.2.7 5"};

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
  const NetHandshake acceptor_{"secret", "run", kAddresses};
};

TEST_F(NetHandshakeTest, BothAreSure) {
  const NetHandshake connector("secret", "run", kAddresses);
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
    const NetHandshake stranger(secret, run, kAddresses);
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

/// An acceptor cannot return the connector's proof as its own.
TEST_F(NetHandshakeTest, AProofIsOfOneSideOnly) {
  const std::string answer = Answer(acceptor_);
  const std::string proof = answer.substr(answer.size() - NetHandshake::kAcceptanceBytes);
  EXPECT_FALSE(acceptor_.IsAcceptance(proof, answer, challenge_));
  EXPECT_FALSE(acceptor_.IsAcceptance(NetHandshake::Refusal(), answer, challenge_));
}

/// Somebody who listens elsewhere and passes on what both sides say is named by one of them only.
TEST_F(NetHandshakeTest, BothEndsHaveToNameTheSameAddresses) {
  for (const size_t rank : {1, 3}) {
    auto addresses = kAddresses;
    addresses[rank] = "192.0.2.66 6";
    const NetHandshake misled("secret", "run", addresses);
    const std::string answer = Answer(misled);
    EXPECT_FALSE(acceptor_.Check(answer, challenge_, 1).has_value()) << rank;
    EXPECT_FALSE(misled.IsAcceptance(acceptor_.Acceptance(answer, challenge_), answer, challenge_));
  }
  auto others = kAddresses;
  others[2] = "192.0.2.66 6";
  const NetHandshake connector("secret", "run", others);
  EXPECT_TRUE(acceptor_.Check(Answer(connector), challenge_, 1).has_value()) << "of no other rank";
  NetChannel nobody = kChannel;
  nobody.connector = 1000;
  EXPECT_TRUE(acceptor_.Check(Answer(acceptor_, nobody), challenge_, 1).has_value())
      << "whether there is such a rank is not asked here";
}

TEST_F(NetHandshakeTest, BothHaveTheSameKeysAndNobodyElseHas) {
  const std::string answer = Answer(acceptor_);
  const ConnectionKeys accepted = acceptor_.AcceptorKeys(answer, challenge_);
  const ConnectionKeys connected = acceptor_.ConnectorKeys(answer, challenge_);
  EXPECT_EQ(accepted.send, connected.receive);
  EXPECT_EQ(accepted.receive, connected.send);
  EXPECT_NE(accepted.send, accepted.receive) << "what one says cannot be sent back to it";
  const std::string another = Answer(acceptor_);
  EXPECT_NE(acceptor_.AcceptorKeys(another, challenge_).send, accepted.send);
  EXPECT_NE(acceptor_.AcceptorKeys(answer, New()).send, accepted.send);
  const NetHandshake stranger("Secret", "run", kAddresses);
  EXPECT_NE(stranger.AcceptorKeys(answer, challenge_).send, accepted.send);
  const NetHandshake earlier("secret", "ran", kAddresses);
  EXPECT_NE(earlier.AcceptorKeys(answer, challenge_).send, accepted.send);
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
  const NetHandshake rank(secret, "run", kAddresses);
  const std::string answer = rank.Answer(kChannel, New(), challenge_);
  EXPECT_EQ((answer + rank.Acceptance(answer, challenge_)).find(secret.substr(0, 8)),
            std::string::npos);
}

}  // namespace
}  // namespace tony::collective
