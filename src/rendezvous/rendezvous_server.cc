// The acceptor: checks each peer before it reads a byte, and holds the number of connections to the
// limit.
#include "rendezvous/rendezvous_server.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "rendezvous/rendezvous_connection.h"

namespace tony::rendezvous {
namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

namespace {

// Pause after a failure to accept a connection, for example for lack of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};
// Connections beyond the limit that still get an answer; connections beyond these are closed
// without one.
constexpr size_t kMostTurnedAway = 256;

}  // namespace

/// Not thread safe: owned by the event loop. Pending handlers keep it alive.
class RendezvousServer::State : public std::enable_shared_from_this<State> {
 public:
  State(EventLoop& loop, KeyValueStore& store, PeerCheck peers, Limits limits)
      : acceptor_(loop.context()),
        pause_(loop.context()),
        peers_("the rendezvous server", std::move(peers)),
        shared_(new RendezvousShared{store, limits}) {}

  absl::Status Listen(int port) {
    const Tcp::endpoint place(asio::ip::address_v4::loopback(), static_cast<unsigned short>(port));
    error_code error;
    acceptor_.open(place.protocol(), error);
    if (!error) KeepFromChildren(acceptor_.native_handle());
    if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.set_option(Tcp::no_delay(true), error);  // accepted sockets inherit it
    if (!error) acceptor_.bind(place, error);
    if (!error) acceptor_.listen(kBacklog, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on 127.0.0.1, port ", port, ": ", error.message()));
    }
    Accept();
    return absl::OkStatus();
  }

  void Close() {
    open_ = false;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& connection : connections_) connection->Close();
    connections_.clear();
  }

  int port() const { return port_; }
  const Counts& counts() const { return shared_->counts; }
  size_t connections() const { return connections_.size(); }

 private:
  /// Keeps the descriptor from programs that this process starts.
  static void KeepFromChildren(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

  void Accept() {
    acceptor_.async_accept(
        [self = shared_from_this()](const error_code& error, Tcp::socket socket) {
          if (!self->open_) return;
          if (error) return self->AcceptLater(error);
          self->OnAccepted(std::move(socket));
          self->Accept();
        });
  }

  void AcceptLater(const error_code& why) {
    accept_log_.Log(LogLevel::kWarning, "a connection to the rendezvous server is not accepted",
                    {{"why", why.message()}});
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](const error_code&) {
      if (self->open_) self->Accept();
    });
  }

  // Making room comes before counting, so that connections that wait without end do not cause a
  // 503.
  void OnAccepted(Tcp::socket socket) {
    if (!peers_.Admits(socket.native_handle())) return;  // the destructor closes the socket
    const size_t limit = shared_->limits.connections;
    if (connections_.size() >= limit) MakeRoom();
    const size_t others = connections_.size();
    if (others >= limit) {
      crowd_log_.Log(LogLevel::kWarning, "a connection to the rendezvous server is turned away",
                     {{"connections", others}});
    }
    if (others >= limit + kMostTurnedAway) return;
    KeepFromChildren(socket.native_handle());
    const auto place = connections_.insert(connections_.end(), nullptr);
    *place = std::make_shared<RendezvousConnection>(std::move(socket), shared_,
                                                    [this, place] { connections_.erase(place); });
    const std::shared_ptr<RendezvousConnection> connection = *place;
    if (others < limit) {
      connection->Start();
    } else {
      connection->TurnAway();
    }
  }

  /// Closes the oldest connection that waits without end. All other connections end by their own
  /// deadlines.
  void MakeRoom() {
    const auto oldest =
        std::find_if(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->waits_without_end(); });
    if (oldest == connections_.end()) return;
    if (!std::exchange(made_room_, true)) {
      LogWarning(absl::StrCat("the rendezvous server has ", connections_.size(),
                              " connections: those that have waited longest for a place in the "
                              "next round are closed for new ones; their processes may ask again"));
    }
    (*oldest)->Close();
    connections_.erase(oldest);
  }

  Tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  PeerFilter peers_;
  const std::shared_ptr<RendezvousShared> shared_;
  std::list<std::shared_ptr<RendezvousConnection>> connections_;
  int port_ = 0;
  bool open_ = true;
  bool made_room_ = false;
  LogLimit accept_log_;
  LogLimit crowd_log_;
};

RendezvousServer::RendezvousServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

RendezvousServer::~RendezvousServer() { state_->Close(); }

absl::StatusOr<std::unique_ptr<RendezvousServer>> RendezvousServer::Start(EventLoop& loop,
                                                                          KeyValueStore& store,
                                                                          int port, PeerCheck peers,
                                                                          Limits limits) {
  auto server = std::unique_ptr<RendezvousServer>(
      new RendezvousServer(std::make_shared<State>(loop, store, std::move(peers), limits)));
  const absl::Status status = server->state_->Listen(port);
  if (!status.ok()) return status;
  return server;
}

int RendezvousServer::port() const { return state_->port(); }
const RendezvousServer::Counts& RendezvousServer::counts() const { return state_->counts(); }
size_t RendezvousServer::connections() const { return state_->connections(); }

}  // namespace tony::rendezvous
