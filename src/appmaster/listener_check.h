// Checks whether a peer can still connect to this ApplicationMaster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "rpc/services/connection_acceptor.h"

namespace tony::appmaster {

/// Connects to this process's own port from time to time. An ApplicationMaster that accepts no
/// connection looks healthy to all connected peers: its job goes on, but it cannot be killed, and
/// the executors of a later stage never attach.
///
/// 1. Every `interval` the check opens a connection, and closes it `patience` later.
/// 2. By then the acceptor must have taken in a connection, this one or another, or must have
///    paused for want of descriptors, which it logs itself.
/// 3. After two failures in a row `on_deaf` is called once, with a sentence.
///
/// Not thread safe: owned by the event loop, which outlives it.
class ListenerCheck {
 public:
  struct Timing {
    std::chrono::milliseconds interval{30'000};
    std::chrono::milliseconds patience{5'000};
  };

  /// `acceptor` must outlive this object.
  ListenerCheck(EventLoop& loop, const rpc::ConnectionAcceptor& acceptor, Timing timing,
                std::function<void(const std::string& why)> on_deaf);

 private:
  void Begin();
  void Judge();
  /// The acceptor's signs of life so far.
  uint64_t Signs() const;

  EventLoop& loop_;
  const rpc::ConnectionAcceptor& acceptor_;
  const Timing timing_;
  const std::function<void(const std::string& why)> on_deaf_;
  uint64_t signs_before_ = 0;
  int failures_ = 0;  ///< in a row
  std::unique_ptr<EventLoop::Handle> attempt_;
  std::unique_ptr<TcpSocket> connection_;
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::appmaster
