// common/tcp_socket.h reads into strings of its own; the feed receives into slots, so it has its
// sockets to itself.
#include "feed/listening_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/network/peer_user.h"

namespace tony::feed {
namespace {

constexpr int kBacklog = 512;
/// Connections that are accepted in one turn of the loop.
constexpr int kMostAccepted = 64;
/// Pause when no descriptor is left.
constexpr std::chrono::milliseconds kAcceptPause{500};

/// A producer's host that vanishes is noticed after about a minute.
void KeepAlive(int socket) {
  const auto set = [socket](int level, int name, int value) {
    (void)::setsockopt(socket, level, name, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

/// Whether the process at the other end is run by this user or by root.
bool IsOwnPeer(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid == ::geteuid() || peer.uid == 0) return true;
  static LogLimit log;
  log.Log(LogLevel::kWarning, "another user's connection to the feed is refused",
          {{"user", peer.uid}, {"pid", peer.pid}});
  return false;
}

absl::StatusOr<os::UniqueFd> Bound(const sockaddr* address, socklen_t size,
                                   const std::string& what) {
  os::UniqueFd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid() || ::bind(socket.get(), address, size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return os::ErrnoError(errno, what);
  }
  return socket;
}

}  // namespace

ListeningSocket::ListeningSocket(EventLoop& loop, os::UniqueFd socket, std::string path, int port,
                                 OnAccepted on_accepted)
    : loop_(loop),
      socket_(std::move(socket)),
      path_(std::move(path)),
      port_(port),
      on_accepted_(std::move(on_accepted)) {
  Watch();
}

ListeningSocket::~ListeningSocket() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

absl::StatusOr<std::unique_ptr<ListeningSocket>> ListeningSocket::OnPath(EventLoop& loop,
                                                                         const std::string& path,
                                                                         OnAccepted on_accepted) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is too long for a Unix socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  TONY_ASSIGN_OR_RETURN(os::UniqueFd socket,
                        Bound(reinterpret_cast<const sockaddr*>(&address), sizeof(address), path));
  return std::unique_ptr<ListeningSocket>(
      new ListeningSocket(loop, std::move(socket), path, 0, std::move(on_accepted)));
}

absl::StatusOr<std::unique_ptr<ListeningSocket>> ListeningSocket::OnPort(EventLoop& loop,
                                                                         bool loopback,
                                                                         OnAccepted on_accepted) {
  sockaddr_in6 all{};
  all.sin6_family = AF_INET6;
  all.sin6_addr = in6addr_any;
  sockaddr_in old{};
  old.sin_family = AF_INET;
  old.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  const std::string what = "a port for producers of data";
  absl::StatusOr<os::UniqueFd> socket = absl::UnavailableError(what);
  if (!loopback) socket = Bound(reinterpret_cast<const sockaddr*>(&all), sizeof(all), what);
  // A host without IPv6.
  if (!socket.ok()) socket = Bound(reinterpret_cast<const sockaddr*>(&old), sizeof(old), what);
  TONY_RETURN_IF_ERROR(socket.status());
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return os::ErrnoError(errno, what);
  }
  // Both families have the port at the same place.
  const int port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  std::unique_ptr<ListeningSocket> listener(
      new ListeningSocket(loop, *std::move(socket), "", port, std::move(on_accepted)));
  if (loopback) {
    listener->loopback_peers_ =
        std::make_unique<PeerFilter>("the feed's port", os::LoopbackPeerCheck());
  }
  return listener;
}

bool ListeningSocket::Admits(int socket) {
  if (!path_.empty()) return IsOwnPeer(socket);
  if (loopback_peers_ != nullptr && !loopback_peers_->Admits(socket)) return false;
  KeepAlive(socket);
  return true;
}

void ListeningSocket::Watch() {
  watch_ = loop_.WatchReadable(socket_.get(), [this] { Accept(); });
}

void ListeningSocket::Accept() {
  for (int turn = 0; turn < kMostAccepted; ++turn) {
    os::UniqueFd accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.valid()) {
      if (Admits(accepted.get())) on_accepted_(std::move(accepted));
      continue;
    }
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
    // The connection stays in the backlog, and the socket readable: without a pause the loop would
    // turn and turn.
    LogWarning("no connection of the feed can be accepted", {{"why", std::strerror(errno)}});
    watch_.reset();
    pause_ = loop_.After(kAcceptPause, [this] { Watch(); });
    return;
  }
}

}  // namespace tony::feed
