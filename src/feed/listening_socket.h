// Accepts connections that do not block, for connections of several kinds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "os/files/unique_fd.h"

namespace tony::feed {

/// A listening socket of the endpoint. Not thread safe: owned by the event loop, which outlives it.
class ListeningSocket {
 public:
  using OnAccepted = std::function<void(os::UniqueFd socket)>;

  /// Listens on the Unix socket `path`, which must not exist, and which is removed in the end. A
  /// connection from another user's process than this one's, or root's, is closed at once. Errno
  /// codes. InvalidArgument – the path is longer than 107 bytes.
  static absl::StatusOr<std::unique_ptr<ListeningSocket>> OnPath(EventLoop& loop,
                                                                 const std::string& path,
                                                                 OnAccepted on_accepted);
  /// Listens on a free port of all addresses, or with `loopback` of 127.0.0.1, where a connection
  /// from another user's process is closed at once. Errno codes.
  static absl::StatusOr<std::unique_ptr<ListeningSocket>> OnPort(EventLoop& loop, bool loopback,
                                                                 OnAccepted on_accepted);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  /// 0 for a Unix socket.
  int port() const { return port_; }

 private:
  ListeningSocket(EventLoop& loop, os::UniqueFd socket, std::string path, int port,
                  OnAccepted on_accepted);

  bool Admits(int socket);
  void Watch();
  void Accept();

  EventLoop& loop_;
  const os::UniqueFd socket_;
  const std::string path_;  ///< empty for a port
  const int port_;
  const OnAccepted on_accepted_;
  std::unique_ptr<PeerFilter> loopback_peers_;  ///< null unless it listens on 127.0.0.1
  std::unique_ptr<EventLoop::Handle> watch_;
  std::unique_ptr<EventLoop::Handle> pause_;
};

}  // namespace tony::feed
