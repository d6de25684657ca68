// The acceptor for replicas of the driver's store.
#pragma once

#include <list>
#include <memory>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "rendezvous/local_store.h"

namespace tony::driver {

/// Listens on this machine's 127.0.0.1 and feeds each replica that connects. A replica comes
/// through the tunnel of this task's executor; a program of another user is turned away. A replica
/// that reads nothing costs only its queue: the frames are shared by all replicas, and their values
/// with the store. Not thread safe: owned by the event loop.
class ReplicaAcceptor {
 public:
  /// `store` must outlive the acceptor. Unavailable – the port cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ReplicaAcceptor>> Open(EventLoop& loop,
                                                               rendezvous::LocalStore& store,
                                                               int port);
  ~ReplicaAcceptor();

  size_t replicas() const { return sessions_.size(); }

 private:
  class Frames;
  class Session;

  ReplicaAcceptor(EventLoop& loop, rendezvous::LocalStore& store);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);

  EventLoop& loop_;
  rendezvous::LocalStore& store_;
  std::unique_ptr<TcpListener> listener_;
  const std::unique_ptr<Frames> frames_;
  std::list<std::unique_ptr<Session>> sessions_;
};

}  // namespace tony::driver
