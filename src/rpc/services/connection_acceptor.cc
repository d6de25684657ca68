// One thread polls the listening sockets and an eventfd for Stop(); it stops polling the sockets
// while there is no room, so that new connections queue up in the kernel.
#include "rpc/services/connection_acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/network/peer_user.h"

namespace tony::rpc {
namespace {

using std::chrono::steady_clock;

/// Length of the kernel's queue of connections; the kernel may allow less (net.core.somaxconn).
constexpr int kBacklog = 4096;
/// Interval at which a full table checks whether handshakes have ended.
constexpr int kFullPauseMs = 20;
/// Limits the log: a lasting shortage is logged at the pauses 1, 2, 4, 8, …
bool IsPowerOfTwo(uint64_t number) { return (number & (number - 1)) == 0; }

/// A socket address: numeric address and port.
struct NumericAddress {
  std::string number;
  int port = 0;
};

NumericAddress NumericAddressOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return {text.data(), ntohs(v6.sin6_port)};
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  return {text.data(), ntohs(v4.sin_port)};
}

void SetPort(sockaddr_storage& address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = number;
  }
}

NumericAddress OwnAddress(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return NumericAddressOf(address);
}

/// The socket's inode; 0: the descriptor is not open, or not a socket.
uint64_t InodeOf(int fd) {
  struct stat state {};
  return ::fstat(fd, &state) == 0 && S_ISSOCK(state.st_mode) ? state.st_ino : 0;
}

absl::StatusOr<std::vector<sockaddr_storage>> Resolve(const std::string& host) {
  const addrinfo hints{.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), "0", &hints, &found); error != 0) {
    return absl::UnavailableError(::gai_strerror(error));
  }
  std::vector<sockaddr_storage> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, one->ai_addr, std::min<size_t>(one->ai_addrlen, sizeof address));
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

absl::StatusOr<os::UniqueFd> ListenAt(const sockaddr_storage& address) {
  os::UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const socklen_t size = address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const int on = 1;
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (address.ss_family == AF_INET6 &&
       ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return absl::UnavailableError(std::strerror(errno));
  }
  return fd;
}

os::UniqueFd Duplicate(const os::UniqueFd& fd) {
  return os::UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

/// Whether an error of accept() concerns that connection only, which is gone. The other errors are
/// shortages.
bool IsOfConnection(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return false;
    default:
      return true;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::Listen(
    const std::string& host, Peers peers, Limits limits) {
  os::UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  os::UniqueFd spare = Duplicate(wake);
  if (!spare.valid()) {
    return absl::UnavailableError(absl::StrCat("cannot make an eventfd: ", std::strerror(errno)));
  }
  std::unique_ptr<ConnectionAcceptor> acceptor(
      new ConnectionAcceptor(peers, limits, std::move(wake), std::move(spare)));
  if (const absl::Status listening = acceptor->ListenOn(host); !listening.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", host, ": ", std::string(listening.message())));
  }
  return acceptor;
}

ConnectionAcceptor::ConnectionAcceptor(Peers peers, Limits limits, os::UniqueFd wake,
                                       os::UniqueFd spare)
    : limits_(limits), wake_(std::move(wake)), spare_(std::move(spare)) {
  if (peers == Peers::kOwnUser) {
    filter_.emplace("the ApplicationMaster's port", os::LoopbackPeerCheck());
  }
}

ConnectionAcceptor::~ConnectionAcceptor() { Stop(); }

absl::Status ConnectionAcceptor::ListenOn(const std::string& host) {
  TONY_ASSIGN_OR_RETURN(std::vector<sockaddr_storage> addresses, Resolve(host));
  absl::Status last = absl::UnavailableError("it has no address");
  for (sockaddr_storage& address : addresses) {
    SetPort(address, port_);  // all further addresses use the port of the first one
    absl::StatusOr<os::UniqueFd> listener = ListenAt(address);
    if (!listener.ok()) {
      last = listener.status();
      LogDebug("an address is not listened on",
               {{"address", NumericAddressOf(address).number}, {"why", last.message()}});
      continue;
    }
    if (listeners_.empty()) {
      const NumericAddress own = OwnAddress(listener->get());
      port_ = own.port;
      number_ = own.number;
    }
    listeners_.push_back(*std::move(listener));
  }
  return listeners_.empty() ? last : absl::OkStatus();
}

absl::Status ConnectionAcceptor::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a thread: ", error.what(),
                     "; raise the limit on processes and threads (ulimit -u)"));
  }
  return absl::OkStatus();
}

void ConnectionAcceptor::Stop() {
  if (!thread_.joinable()) return;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
  listeners_.clear();  // the kernel refuses connections from here on
}

void ConnectionAcceptor::Run() {
  while (!stopped_) {
    if (!HasRoom()) {
      Wait(kFullPauseMs, /*accepting=*/false);
      continue;
    }
    Wait(-1, /*accepting=*/true);
    bool shortage = false;
    for (const os::UniqueFd& listener : listeners_) {
      if (!stopped_ && !AcceptAll(listener.get())) shortage = true;
    }
    if (shortage) Wait(static_cast<int>(limits_.pause.count()), /*accepting=*/false);
  }
}

void ConnectionAcceptor::Wait(int limit_ms, bool accepting) {
  std::vector<pollfd> watched = {{.fd = wake_.get(), .events = POLLIN}};
  for (const os::UniqueFd& listener : listeners_) {
    if (accepting) watched.push_back({.fd = listener.get(), .events = POLLIN});
  }
  ::poll(watched.data(), watched.size(), limit_ms);
  stopped_ = stopped_ || watched.front().revents != 0;
}

bool ConnectionAcceptor::AcceptAll(int listener) {
  while (HasRoom()) {
    if (!reserve_.valid()) reserve_ = Duplicate(wake_);
    if (!reserve_.valid()) return Shortage(errno);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    os::UniqueFd connection(::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size,
                                      SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      Admit(listener, std::move(connection), NumericAddressOf(peer).port);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (!IsOfConnection(errno)) {
      return Shortage(errno);
    } else {
      gone_log_.Log(LogLevel::kDebug, "a connection was gone before it was accepted",
                    {{"why", std::strerror(errno)}});
    }
  }
  return true;
}

bool ConnectionAcceptor::Shortage(int error) {
  uint64_t pauses = 0;
  {
    std::lock_guard lock(mutex_);
    pauses = ++counts_.pauses;
  }
  if (IsPowerOfTwo(pauses)) {
    LogWarning(
        absl::StrCat("connections wait to be accepted: ", std::strerror(error),
                     error == EMFILE ? "; raise the hard limit on open files (ulimit -Hn)" : "",
                     " (pause ", pauses, ")"));
  }
  return false;
}

void ConnectionAcceptor::Admit(int listener, os::UniqueFd connection, int peer_port) {
  // The check of the peer's user needs a descriptor, and this connection may have taken the last
  // one, so the reserve is released for it.
  reserve_.Reset();
  if (filter_ && !filter_->Admits(connection.get())) {
    std::lock_guard lock(mutex_);
    ++counts_.refused;
    return;
  }
  const int on = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  {
    std::lock_guard lock(mutex_);
    ++counts_.accepted;
    // Recorded before gRPC gets the connection, because its first call may come at once.
    handshakes_.push_back({.fd = connection.get(),
                           .inode = InodeOf(connection.get()),
                           .peer_port = peer_port,
                           .since = steady_clock::now()});
  }
  on_connection_(listener, connection.Release());
}

bool ConnectionAcceptor::HasRoom() {
  std::lock_guard lock(mutex_);
  if (handshakes_.size() < limits_.handshakes) return true;
  handshakes_.remove_if(
      [](const Handshake& handshake) { return InodeOf(handshake.fd) != handshake.inode; });
  if (handshakes_.size() < limits_.handshakes) return true;
  if (steady_clock::now() - handshakes_.front().since < limits_.grace) return false;
  crowd_log_.Log(LogLevel::kWarning, "too many handshakes at once: the oldest is ended",
                 {{"peer_port", handshakes_.front().peer_port}});
  Evict(handshakes_.front());
  handshakes_.pop_front();
  ++counts_.evicted;
  return true;
}

void ConnectionAcceptor::Evict(const Handshake& oldest) {
  // gRPC may close the descriptor at any moment, and the number may then be another socket's. A
  // duplicate pins whatever the number denotes now; its inode tells whether it still is the same
  // socket.
  if (::dup3(oldest.fd, spare_.get(), O_CLOEXEC) < 0) return;
  if (InodeOf(spare_.get()) == oldest.inode) ::shutdown(spare_.get(), SHUT_RDWR);
  ::dup3(wake_.get(), spare_.get(), O_CLOEXEC);
}

void ConnectionAcceptor::OnCall(std::string_view peer) {
  int port = 0;
  const std::string_view digits = peer.substr(peer.rfind(':') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  std::lock_guard lock(mutex_);
  // Two hosts may use the same port number. One of them is then no longer counted, which does
  // little harm: gRPC's own handshake limit ends it.
  handshakes_.remove_if([port](const Handshake& handshake) { return handshake.peer_port == port; });
}

ConnectionAcceptor::Counts ConnectionAcceptor::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tony::rpc
