// Each tunnel first connects to the local port and then answers the ApplicationMaster, so that its
// answer can say whether anybody listens.
#include "executor/master/tunnels.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony::executor {
namespace {

/// A server of the task listens on one of these, unless it accepts connections from outside only.
constexpr const char* kLoopback[] = {"127.0.0.1", "::1"};
/// A port of the loopback answers at once, unless the process that owns it is stopped.
constexpr std::chrono::seconds kConnectPatience{5};

}  // namespace

/// One tunnel: connecting first, then carrying data. A refused tunnel only sends its answer.
struct Tunnels::Tunnel : std::enable_shared_from_this<Tunnel> {
  v1::OpenTunnel wish;
  std::shared_ptr<rpc::TunnelDialer> dialer;
  size_t next_address = 0;
  std::unique_ptr<EventLoop::Handle> attempt;
  std::unique_ptr<EventLoop::Handle> deadline;
  std::unique_ptr<rpc::TunnelEnd> refusal;
  std::unique_ptr<rpc::TunnelPump> pump;
};

Tunnels::~Tunnels() = default;

void Tunnels::Open(const v1::OpenTunnel& wish, const std::string& master_address,
                   const absl::Status& refusal) {
  tunnels_.push_back(std::make_shared<Tunnel>());
  Tunnel& tunnel = *tunnels_.back();
  tunnel.wish = wish;
  tunnel.dialer = DialerTo(master_address);
  if (!refusal.ok()) return Refuse(tunnel, refusal);
  if (wish.has_logs()) {
    const absl::Status sent = logs_.Send(wish.tunnel(), wish.logs(), tunnel.dialer);
    return sent.ok() ? Forget(tunnel) : Refuse(tunnel, sent);
  }
  tunnel.deadline = loop_.After(kConnectPatience, [this, &tunnel] {
    tunnel.attempt.reset();
    Refuse(tunnel, absl::UnavailableError(
                       absl::StrCat("port ", tunnel.wish.port(), " takes no connection")));
  });
  Connect(tunnel);
}

void Tunnels::Connect(Tunnel& tunnel) {
  const char* const address = kLoopback[tunnel.next_address++];
  tunnel.attempt =
      TcpSocket::Connect(loop_, address, tunnel.wish.port(),
                         [this, &tunnel](auto socket) { OnConnected(tunnel, std::move(socket)); });
}

// The addresses of the loopback are tried one after the other; the ApplicationMaster hears a
// refusal only when all have failed.
void Tunnels::OnConnected(Tunnel& tunnel, absl::StatusOr<std::unique_ptr<TcpSocket>> socket) {
  if (!socket.ok()) {
    LogDebug("a tunnel's port does not answer", {{"tunnel", tunnel.wish.tunnel()},
                                                 {"port", tunnel.wish.port()},
                                                 {"why", socket.status().message()}});
    if (tunnel.next_address < std::size(kLoopback)) return Connect(tunnel);
    return Refuse(
        tunnel, absl::UnavailableError(absl::StrCat("nobody listens on its port ",
                                                    tunnel.wish.port(), " (on 127.0.0.1 or ::1)")));
  }
  tunnel.deadline.reset();
  tunnel.pump = std::make_unique<rpc::TunnelPump>(
      loop_, *std::move(socket),
      [&tunnel](auto callbacks) {
        return tunnel.dialer->Answer(tunnel.wish.tunnel(), absl::OkStatus(), std::move(callbacks));
      },
      [this, &tunnel](const absl::Status& status) {
        LogDebug("a tunnel has ended",
                 {{"tunnel", tunnel.wish.tunnel()}, {"why", status.message()}});
        Forget(tunnel);
      });
}

// The callback holds the tunnel weakly and goes through the loop: it comes on a thread of gRPC, and
// Tunnels may have forgotten the tunnel by then.
void Tunnels::Refuse(Tunnel& tunnel, const absl::Status& why) {
  LogDebug("a tunnel is refused", {{"tunnel", tunnel.wish.tunnel()}, {"why", why.message()}});
  tunnel.deadline.reset();
  tunnel.refusal =
      tunnel.dialer->Answer(tunnel.wish.tunnel(), why,
                            {[](const v1::TunnelFrame&) {}, [] {},
                             [this, tunnel = tunnel.weak_from_this()](const absl::Status&) {
                               loop_.Post([this, tunnel] {
                                 if (const auto done = tunnel.lock()) Forget(*done);
                               });
                             }});
  tunnel.refusal->Read();  // waits for the end of the stream
}

void Tunnels::Forget(const Tunnel& tunnel) {
  tunnels_.remove_if([&tunnel](const auto& other) { return other.get() == &tunnel; });
}

std::shared_ptr<rpc::TunnelDialer> Tunnels::DialerTo(const std::string& master_address) {
  if (dialer_ == nullptr || dialed_address_ != master_address) {
    LogDebug("tunnels are dialed to another address", {{"peer", master_address}});
    dialed_address_ = master_address;
    dialer_ = std::make_shared<rpc::TunnelDialer>(master_address, credentials_);
  }
  return dialer_;
}

}  // namespace tony::executor
