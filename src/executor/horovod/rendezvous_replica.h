// The rendezvous of a Horovod job as served to this container's processes, on their own machine.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/frame_reader.h"
#include "common/lifetime.h"
#include "rendezvous/rendezvous_server.h"
#include "rendezvous/replica_store.h"
#include "rpc/tunnel/tunnel_end.h"

namespace tony::executor {

/// A replica of the driver's store, behind a server on 127.0.0.1 for programs of this user. A
/// tunnel connects the replica with the driver; it is dialled again when it breaks. Not thread
/// safe: owned by the event loop.
class RendezvousReplica {
 public:
  using Dial = std::function<std::unique_ptr<rpc::TunnelEnd>(rpc::TunnelEnd::Callbacks)>;

  /// Unavailable – there is no port for the server.
  static absl::StatusOr<std::unique_ptr<RendezvousReplica>> Start(EventLoop& loop, Dial dial);
  ~RendezvousReplica();
  RendezvousReplica(const RendezvousReplica&) = delete;
  RendezvousReplica& operator=(const RendezvousReplica&) = delete;

  /// The server's port on 127.0.0.1.
  int port() const { return server_->port(); }
  /// Dials a new tunnel, because there is another ApplicationMaster or another connection to it:
  /// the old tunnel may be dead without having been seen to break.
  void DialAgain();

 private:
  RendezvousReplica(EventLoop& loop, Dial dial);

  void Connect();
  void OnFrame(v1::TunnelFrame frame);
  void OnWritten();
  void OnClosed(absl::Status status);
  void Break(const absl::Status& why);
  absl::Status Take(const std::string& bytes);
  void Queue(std::string frame);
  void Write();
  /// Sends signs of life, so that the tunnel is not closed as forgotten.
  void KeepAlive();

  EventLoop& loop_;
  const Dial dial_;
  rendezvous::ReplicaStore store_;
  std::unique_ptr<rendezvous::RendezvousServer> server_;
  std::unique_ptr<FrameReader> frames_;  ///< of the current tunnel
  std::deque<std::string> queue_;        ///< frames for the current tunnel
  size_t sent_bytes_ = 0;                ///< bytes of the first frame that are sent
  bool writing_ = false;
  Duration pause_{0};  ///< backoff before the next attempt
  std::unique_ptr<EventLoop::Handle> retry_;
  std::unique_ptr<EventLoop::Handle> keep_alive_;
  std::optional<Lifetime> tunnel_lifetime_;  ///< nullopt: no tunnel is open
  std::unique_ptr<rpc::TunnelEnd> end_;      ///< last: its callbacks use the rest
};

}  // namespace tony::executor
