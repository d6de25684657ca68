// Reads both ends of the accepted socket from the kernel, asks the PeerCheck, and logs refusals at
// the counts 1, 10, 100, ….
#include "common/peer_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony {
namespace {

/// An address and a port, IPv4 or IPv6. Plain data.
struct End {
  std::string address;
  uint16_t port = 0;
};

std::string TextOf(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(family, address, text.data(), text.size()) == nullptr) return "";
  return text.data();
}

End EndOf(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof(address));
    return {TextOf(AF_INET, &address.sin_addr), ntohs(address.sin_port)};
  }
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof(address));
  constexpr size_t kMappedPrefix = 12;  // bytes before the IPv4 address
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address.sin6_addr);
  const std::string text = mapped ? TextOf(AF_INET, address.sin6_addr.s6_addr + kMappedPrefix)
                                  : TextOf(AF_INET6, &address.sin6_addr);
  return {text, ntohs(address.sin6_port)};
}

/// Returns false if the socket has no such end any more.
bool Find(int socket, int (*name)(int, sockaddr*, socklen_t*), End& end) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (name(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return false;
  end = EndOf(storage);
  return true;
}

bool IsTenfold(uint64_t count) {
  while (count % 10 == 0) count /= 10;
  return count == 1;
}

}  // namespace

PeerFilter::PeerFilter(std::string listener, PeerCheck check)
    : listener_(std::move(listener)), check_(std::move(check)) {}

absl::Status PeerFilter::Ask(int socket) const {
  End peer, local;
  if (!Find(socket, ::getpeername, peer) || !Find(socket, ::getsockname, local)) {
    return absl::NotFoundError("the peer has gone already");
  }
  const absl::Status answer = check_({peer.address, peer.port, local.port});
  if (!answer.ok()) return answer;
  // A peer that has broken its connection may have left a request behind, and its port may have
  // passed to another user's program, which the check has then judged instead. While this end is
  // connected, the port belongs to nobody else.
  if (!Find(socket, ::getpeername, peer)) return absl::NotFoundError("the peer has gone meanwhile");
  return absl::OkStatus();
}

bool PeerFilter::Admits(int socket) {
  const absl::Status answer = Ask(socket);
  if (answer.ok()) return true;
  // Clients that give up are no strangers, but they help whoever searches for a fault, so they are
  // logged at the debug level.
  const bool gone = absl::IsNotFound(answer);
  const uint64_t count = gone ? ++gone_ : ++refused_;
  if (IsTenfold(count)) {
    Log(gone ? LogLevel::kDebug : LogLevel::kWarning,
        absl::StrCat(listener_, ": ", std::string(answer.message()),
                     count == 1 ? "" : absl::StrCat("; connections like this so far: ", count)));
  }
  return false;
}

}  // namespace tony
