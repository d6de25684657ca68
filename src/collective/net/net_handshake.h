// What two ranks say to each other before they trust a connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/base/frame_mac.h"
#include "collective/base/status.h"
#include "collective/net/hmac.h"

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
/// 2. The connector answers with its channel, a random number of its own, and a proof: an HMAC
/// under the job's secret of both numbers, the channel, the run's name, and the addresses at which
/// both ranks listen, as the job's store has them.
/// 3. The acceptor proves the same, otherwise labelled, so that nobody's proof is another one's.
/// 4. Both derive the connection's keys from the secret and all of that.
///
/// The secret is never sent, and an answer that was heard fits no other challenge. Whoever listens
/// elsewhere than where the acceptor does, and passes everything on, is noticed, since the two ends
/// do not name the same addresses. Whoever does so on the way to the right address is not: he sees
/// the proofs go by, but knows none of the keys. Messages have a fixed size each. Not thread safe.
class NetHandshake {
 public:
  using Number = std::array<uint8_t, 32>;

  static constexpr size_t kChallengeBytes = 4 + sizeof(Number);
  static constexpr size_t kAnswerBytes = 4 + sizeof(NetChannel) + sizeof(Number) + sizeof(Digest);
  static constexpr size_t kAcceptanceBytes = sizeof(Digest);

  /// `run`: what all ranks of this start of the job call it, and those of no other. `addresses`: at
  /// which ranks listen, by rank.
  NetHandshake(std::string secret, std::string run, std::vector<std::string> addresses);

  /// Of a new connection. Internal: no random numbers.
  static Result<Number> NewNumber();

  // The acceptor's side:
  static std::string Challenge(const Number& challenge);
  /// Whom this is, to the acceptor `own`; nothing where the proof does not hold.
  std::optional<NetChannel> Check(std::string_view answer, const Number& challenge,
                                  int32_t own) const;
  std::string Acceptance(std::string_view answer, const Number& challenge) const;
  /// Of a connection whose answer was checked.
  ConnectionKeys AcceptorKeys(std::string_view answer, const Number& challenge) const;
  static std::string Refusal() { return std::string(kAcceptanceBytes, '\0'); }

  // The connector's side:
  /// Nothing: this is no challenge.
  static std::optional<Number> ReadChallenge(std::string_view message);
  std::string Answer(const NetChannel& channel, const Number& own, const Number& challenge) const;
  /// Whether the acceptor knows the secret too.
  bool IsAcceptance(std::string_view message, std::string_view answer,
                    const Number& challenge) const;
  /// Of a connection that was accepted.
  ConnectionKeys ConnectorKeys(std::string_view answer, const Number& challenge) const;

 private:
  Digest Proof(std::string_view side, std::string_view answer, const Number& challenge) const;
  /// Of what goes to one side.
  MacKey KeyTo(std::string_view side, std::string_view answer, const Number& challenge) const;
  /// Empty: there is no such rank.
  std::string_view AddressOf(int32_t rank) const;

  const std::string secret_;
  const std::string run_;
  const std::vector<std::string> addresses_;
};

}  // namespace tony::collective
