// A port of its own for the page of a job's program: TensorBoard, a notebook.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/peer_filter.h"
#include "common/tcp_socket.h"
#include "web/gate/gate_connection.h"
#include "web/gate/program_access.h"
#include "web/gate/program_link.h"

namespace tony::web {

/// Listens on 127.0.0.1 and carries the requests of the job's visitors to the job's program. A
/// program's page runs foreign scripts, so it must not have the origin of the job's page: another
/// port is another origin. At the limit of connections, the oldest one on which nobody waits for an
/// answer is closed for the new one. Not thread safe: owned by the event loop.
class ProgramGate {
 public:
  /// Plain data.
  struct Options {
    std::string job_id;
    int page_port = 0;  ///< of the job's page, which may show the program in a frame
    GateLimits limits = {};
    int socket = -1;  ///< to listen with, bound already; -1: any free port of 127.0.0.1
  };

  /// `loop`, `clock` and `links` must outlive the gate. `peers`: the peers to serve. The codes of
  /// TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<ProgramGate>> Start(EventLoop& loop, const Clock& clock,
                                                            PeerCheck peers, ProgramLinks& links,
                                                            Options options);
  /// Breaks all connections.
  ~ProgramGate() = default;

  int port() const { return listener_->port(); }
  /// See ProgramAccess.
  std::string Invite() { return access_->Invite(); }
  std::string origin() const { return access_->origin(); }

 private:
  ProgramGate(EventLoop& loop, ProgramLinks& links, Options options);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);

  EventLoop& loop_;
  ProgramLinks& links_;
  const Options options_;
  const std::vector<std::string> page_origins_;  ///< one
  LogLimit crowd_log_;
  std::unique_ptr<ProgramAccess> access_;
  std::list<std::unique_ptr<GateConnection>> connections_;  ///< oldest first
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace tony::web
