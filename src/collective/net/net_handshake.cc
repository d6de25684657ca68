// Mutual challenge and response with HMAC-SHA256; HKDF derives one key for each direction.
#include "collective/net/net_handshake.h"

#include <sys/random.h>

#include <cstring>
#include <utility>

namespace tony::collective {
namespace {

constexpr uint32_t kGreeting = 0x746f6e12;  // "ton", TCP, form 2
constexpr std::string_view kConnector = "connector";
constexpr std::string_view kAcceptor = "acceptor";
/// Labels that separate these HMACs from all other uses of the job's key.
constexpr std::string_view kProof = "tony.collective handshake 2";
constexpr std::string_view kKeyTo = "tony.collective key to ";
/// The leading bytes of an answer, which its proof covers.
constexpr size_t kProvenBytes = NetHandshake::kAnswerBytes - sizeof(Digest);

template <typename T>
std::string_view BytesOf(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename T>
T Read(std::string_view message, size_t at) {
  T value;
  std::memcpy(&value, message.data() + at, sizeof(value));
  return value;
}

}  // namespace

NetHandshake::NetHandshake(std::string secret, std::string run, std::vector<std::string> addresses)
    : secret_(std::move(secret)), run_(std::move(run)), addresses_(std::move(addresses)) {}

Result<NetHandshake::Number> NetHandshake::NewNumber() {
  Number number{};
  if (getrandom(number.data(), number.size(), 0) != static_cast<ssize_t>(number.size())) {
    return Status(Code::kInternal, "no random numbers");
  }
  return number;
}

std::string NetHandshake::Challenge(const Number& challenge) {
  return std::string(BytesOf(kGreeting)).append(BytesOf(challenge));
}

std::optional<NetHandshake::Number> NetHandshake::ReadChallenge(std::string_view message) {
  if (message.size() != kChallengeBytes || Read<uint32_t>(message, 0) != kGreeting) return {};
  return Read<Number>(message, sizeof(kGreeting));
}

// The rank comes from a message whose proof has not been checked yet, so it may be any number.
std::string_view NetHandshake::AddressOf(int32_t rank) const {
  if (rank < 0 || static_cast<size_t>(rank) >= addresses_.size()) return {};
  return addresses_[static_cast<size_t>(rank)];
}

Digest NetHandshake::Proof(std::string_view side, std::string_view answer,
                           const Number& challenge) const {
  const auto channel = Read<NetChannel>(answer, sizeof(kGreeting));
  return Hmac(secret_,
              {kProof, side, run_, AddressOf(channel.acceptor), AddressOf(channel.connector),
               BytesOf(challenge), answer.substr(0, kProvenBytes)});
}

MacKey NetHandshake::KeyTo(std::string_view side, std::string_view answer,
                           const Number& challenge) const {
  // The salt contains both random numbers and the channel.
  const std::string salt = std::string(BytesOf(challenge)).append(answer.substr(0, kProvenBytes));
  return DeriveKey(secret_, salt, std::string(kKeyTo).append(side).append(run_));
}

ConnectionKeys NetHandshake::AcceptorKeys(std::string_view answer, const Number& challenge) const {
  return {.send = KeyTo(kConnector, answer, challenge),
          .receive = KeyTo(kAcceptor, answer, challenge)};
}

ConnectionKeys NetHandshake::ConnectorKeys(std::string_view answer, const Number& challenge) const {
  return {.send = KeyTo(kAcceptor, answer, challenge),
          .receive = KeyTo(kConnector, answer, challenge)};
}

std::string NetHandshake::Answer(const NetChannel& channel, const Number& own,
                                 const Number& challenge) const {
  std::string answer(BytesOf(kGreeting));
  answer.append(BytesOf(channel)).append(BytesOf(own));
  const Digest proof = Proof(kConnector, answer, challenge);
  return answer.append(BytesOf(proof));
}

std::optional<NetChannel> NetHandshake::Check(std::string_view answer, const Number& challenge,
                                              int32_t own) const {
  if (answer.size() != kAnswerBytes || Read<uint32_t>(answer, 0) != kGreeting) return {};
  const Digest proof = Proof(kConnector, answer, challenge);
  if (!AreSame(proof, Read<Digest>(answer, kProvenBytes))) return {};
  // An answer meant for another acceptor does not count here, even with a valid proof.
  const auto channel = Read<NetChannel>(answer, sizeof(kGreeting));
  if (channel.acceptor != own) return {};
  return channel;
}

std::string NetHandshake::Acceptance(std::string_view answer, const Number& challenge) const {
  const Digest proof = Proof(kAcceptor, answer, challenge);
  return std::string(BytesOf(proof));
}

bool NetHandshake::IsAcceptance(std::string_view message, std::string_view answer,
                                const Number& challenge) const {
  return message.size() == kAcceptanceBytes &&
         AreSame(Read<Digest>(message, 0), Proof(kAcceptor, answer, challenge));
}

}  // namespace tony::collective
