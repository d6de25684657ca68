// One end of the socket pair between a launcher and an ApplicationMaster.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// Sends and receives whole packets (SOCK_SEQPACKET). Packets that the other side does not take are
/// queued, up to a limit. Not thread safe: owned by the event loop.
class PacketSocket {
 public:
  struct Events {
    std::function<void(const std::string& packet)> on_packet;
    /// The other end is gone, or does not read. Called once, and nothing after it.
    std::function<void(const std::string& why)> on_lost;
  };

  /// The most packets that wait for the other side: more than any job has orders.
  static constexpr size_t kMostQueued = 100'000;

  /// InvalidArgument – the descriptor is no socket of this kind.
  static absl::Status Check(int fd);

  /// `loop` must outlive this object. No event comes before the loop runs, or from within a call.
  PacketSocket(EventLoop& loop, os::UniqueFd socket, Events events);

  void Send(std::string packet);

 private:
  void OnReadable();
  void Flush();
  void Lose(const std::string& why);

  EventLoop& loop_;
  const os::UniqueFd socket_;
  const os::UniqueFd writer_;  ///< a copy of it: the loop watches a descriptor for one thing only
  const Events events_;
  std::deque<std::string> queue_;
  bool lost_ = false;
  std::unique_ptr<EventLoop::Handle> readable_;
  std::unique_ptr<EventLoop::Handle> writable_;  ///< set while packets are queued
  std::unique_ptr<EventLoop::Handle> losing_;
};

}  // namespace tony::backend
