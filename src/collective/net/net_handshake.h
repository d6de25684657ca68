// The handshake by which two ranks authenticate a TCP connection and derive its keys.
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

/// Identifies a connection: its two ranks and its purpose.
struct NetChannel {
  int32_t acceptor = 0;   ///< the rank that listens
  int32_t connector = 0;  ///< the rank that connects
  int32_t ranks = 0;      ///< number of ranks of the job
  uint32_t number = 0;    ///< number among the connections of these two ranks
  uint32_t streams = 0;   ///< number of these connections that carry data
};

/// The class only computes messages; the caller sends and receives them.
///
/// 1. The acceptor sends a challenge: a random number for this connection.
/// 2. The connector answers with its channel, a random number of its own, and a proof: an HMAC
/// under the job's secret of both numbers, the channel, the run's name, and the addresses at which
/// both ranks listen, as the job's store has them.
/// 3. The acceptor sends a proof of the same with another label, so that neither side's proof can
/// be returned as the other's.
/// 4. Both sides derive the connection's keys from the secret and all of that.
///
/// The secret is never sent, and a recorded answer fits no other challenge. A relay at another
/// address than the acceptor's is detected, since the two ends do not name the same addresses. A
/// relay on the way to the right address is not detected: it sees the proofs, but knows none of the
/// keys. Each message has a fixed size. Not thread safe.
class NetHandshake {
 public:
  using Number = std::array<uint8_t, 32>;

  static constexpr size_t kChallengeBytes = 4 + sizeof(Number);
  static constexpr size_t kAnswerBytes = 4 + sizeof(NetChannel) + sizeof(Number) + sizeof(Digest);
  static constexpr size_t kAcceptanceBytes = sizeof(Digest);

  /// `secret`: the job's key. `run`: the name of this start of the job; no other start has it.
  /// `addresses`: the addresses at which the ranks listen, by rank.
  NetHandshake(std::string secret, std::string run, std::vector<std::string> addresses);

  /// A random number for a new connection. Internal: no random numbers.
  static Result<Number> NewNumber();

  // The acceptor's side:
  static std::string Challenge(const Number& challenge);
  /// The channel that `answer` names. Nothing: the proof does not hold, or the acceptor that is
  /// named is not `own`.
  std::optional<NetChannel> Check(std::string_view answer, const Number& challenge,
                                  int32_t own) const;
  /// The acceptor's proof.
  std::string Acceptance(std::string_view answer, const Number& challenge) const;
  /// The acceptor's keys. `answer` must have passed Check().
  ConnectionKeys AcceptorKeys(std::string_view answer, const Number& challenge) const;
  /// The message sent instead of an acceptance to a connector that is refused.
  static std::string Refusal() { return std::string(kAcceptanceBytes, '\0'); }

  // The connector's side:
  /// The number in a challenge. Nothing: `message` is no challenge.
  static std::optional<Number> ReadChallenge(std::string_view message);
  /// The connector's answer. `own`: its random number.
  std::string Answer(const NetChannel& channel, const Number& own, const Number& challenge) const;
  /// Whether `message` proves that the acceptor knows the secret too.
  bool IsAcceptance(std::string_view message, std::string_view answer,
                    const Number& challenge) const;
  /// The connector's keys. The acceptance must have passed IsAcceptance().
  ConnectionKeys ConnectorKeys(std::string_view answer, const Number& challenge) const;

 private:
  Digest Proof(std::string_view side, std::string_view answer, const Number& challenge) const;
  /// The MAC key of the direction towards `side`.
  MacKey KeyTo(std::string_view side, std::string_view answer, const Number& challenge) const;
  /// The rank's address. Empty: there is no such rank.
  std::string_view AddressOf(int32_t rank) const;

  const std::string secret_;
  const std::string run_;
  const std::vector<std::string> addresses_;
};

}  // namespace tony::collective
