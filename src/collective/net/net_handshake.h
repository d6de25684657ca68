// What two ranks say to each other before they trust a connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collective/net/hmac.h"
#include "collective/status.h"

namespace tony::collective {

/// What a connection is for.
struct NetChannel {
  int32_t acceptor = 0;   ///< whose door it is
  int32_t connector = 0;  ///< who has come
  int32_t ranks = 0;
  uint32_t number = 0;   ///< among those of these two
  uint32_t streams = 0;  ///< so many of them are for data
};

/// Computation only:
///
/// 1. The acceptor sends a challenge: a random number of this connection.
/// 2. The connector answers with its channel, a random number of its own, and a proof: both
/// numbers, the channel and the run's name under the job's secret.
/// 3. The acceptor proves the same, otherwise labelled, so that nobody's proof is another one's.
///
/// The secret is never sent, and an answer that was heard fits no other challenge. Messages have a
/// fixed size each. Not thread safe.
class NetHandshake {
 public:
  using Number = std::array<uint8_t, 32>;

  static constexpr size_t kChallengeBytes = 4 + sizeof(Number);
  static constexpr size_t kAnswerBytes = 4 + sizeof(NetChannel) + sizeof(Number) + sizeof(Digest);
  static constexpr size_t kAcceptanceBytes = sizeof(Digest);

  /// `run`: what all ranks of this start of the job call it, and those of no other.
  NetHandshake(std::string secret, std::string run);

  /// Of a new connection. Internal: no random numbers.
  static Result<Number> NewNumber();

  // The acceptor's side:
  static std::string Challenge(const Number& challenge);
  /// Whom this is, to the acceptor `own`; nothing where the proof does not hold.
  std::optional<NetChannel> Check(std::string_view answer, const Number& challenge,
                                  int32_t own) const;
  std::string Acceptance(std::string_view answer, const Number& challenge) const;
  static std::string Refusal() { return std::string(kAcceptanceBytes, '\0'); }

  // The connector's side:
  /// Nothing: this is no challenge.
  static std::optional<Number> ReadChallenge(std::string_view message);
  std::string Answer(const NetChannel& channel, const Number& own, const Number& challenge) const;
  /// Whether the acceptor knows the secret too.
  bool IsAcceptance(std::string_view message, std::string_view answer,
                    const Number& challenge) const;

 private:
  Digest Proof(char side, std::string_view answer, const Number& challenge) const;

  const std::string secret_;
  const std::string run_;
};

}  // namespace tony::collective
