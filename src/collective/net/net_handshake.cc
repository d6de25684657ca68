// Challenge and response with HMAC-SHA256.
#include "collective/net/net_handshake.h"

#include <sys/random.h>

#include <cstring>
#include <utility>

namespace tony::collective {
namespace {

constexpr uint32_t kGreeting = 0x746f6e11;  // "ton", TCP, form 1
constexpr char kConnector = 'c';
constexpr char kAcceptor = 'a';
/// Of an answer, what its proof is of.
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

NetHandshake::NetHandshake(std::string secret, std::string run)
    : secret_(std::move(secret)), run_(std::move(run)) {}

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

Digest NetHandshake::Proof(char side, std::string_view answer, const Number& challenge) const {
  std::string said(1, side);
  said.append(BytesOf(challenge)).append(answer.substr(0, kProvenBytes)).append(run_);
  return Hmac(secret_, said);
}

std::string NetHandshake::Answer(const NetChannel& channel, const Number& own,
                                 const Number& challenge) const {
  std::string answer(BytesOf(kGreeting));
  answer.append(BytesOf(channel)).append(BytesOf(own));
  return answer.append(BytesOf(Proof(kConnector, answer, challenge)));
}

std::optional<NetChannel> NetHandshake::Check(std::string_view answer, const Number& challenge,
                                              int32_t own) const {
  if (answer.size() != kAnswerBytes || Read<uint32_t>(answer, 0) != kGreeting) return {};
  const Digest proof = Proof(kConnector, answer, challenge);
  if (!AreSame(proof, Read<Digest>(answer, kProvenBytes))) return {};
  const auto channel = Read<NetChannel>(answer, sizeof(kGreeting));
  if (channel.acceptor != own) return {};
  return channel;
}

std::string NetHandshake::Acceptance(std::string_view answer, const Number& challenge) const {
  return std::string(BytesOf(Proof(kAcceptor, answer, challenge)));
}

bool NetHandshake::IsAcceptance(std::string_view message, std::string_view answer,
                                const Number& challenge) const {
  return message.size() == kAcceptanceBytes &&
         AreSame(Read<Digest>(message, 0), Proof(kAcceptor, answer, challenge));
}

}  // namespace tony::collective
