// The task's ends of tunnels: connections to ports of this container, and its logs, carried to the
// ApplicationMaster.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "rpc/security/credentials.h"
#include "rpc/tunnel/log_sender.h"
#include "rpc/tunnel/tunnel_end.h"
#include "rpc/tunnel/tunnel_pump.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// Opens as many tunnels as the ApplicationMaster asks for; the ApplicationMaster bounds their
/// number. Not thread safe: owned by the event loop.
class Tunnels {
 public:
  /// `log_folder`: the log folder of the container.
  Tunnels(EventLoop& loop, rpc::Credentials credentials, std::string log_folder)
      : loop_(loop), credentials_(std::move(credentials)), logs_(loop, std::move(log_folder)) {}
  /// Breaks the open tunnels.
  ~Tunnels();

  /// Connects to the port on this host's loopback, or opens the container's logs, and answers the
  /// ApplicationMaster at `master_address`. If `refusal` is not OK, or nobody listens, the answer
  /// only says why.
  void Open(const v1::OpenTunnel& wish, const std::string& master_address,
            const absl::Status& refusal);

  /// The dialer to this ApplicationMaster: one connection for all tunnels, apart from the
  /// connection for messages that must not wait.
  std::shared_ptr<rpc::TunnelDialer> DialerTo(const std::string& master_address);

  /// Called when nothing more will be logged. `done` follows when all log readers have received
  /// everything, perhaps from within the call.
  void FinishLogs(std::function<void()> done) { logs_.Finish(std::move(done)); }

 private:
  struct Tunnel;

  /// Connects to the next loopback address of the tunnel.
  void Connect(Tunnel& tunnel);
  void OnConnected(Tunnel& tunnel, absl::StatusOr<std::unique_ptr<TcpSocket>> socket);
  void Refuse(Tunnel& tunnel, const absl::Status& why);
  void Forget(const Tunnel& tunnel);

  EventLoop& loop_;
  const rpc::Credentials credentials_;
  std::string dialed_address_;
  std::shared_ptr<rpc::TunnelDialer> dialer_;
  std::list<std::shared_ptr<Tunnel>> tunnels_;
  rpc::LogSenders logs_;
};

}  // namespace tony::executor
