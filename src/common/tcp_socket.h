// TCP connections and listening sockets on the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"

namespace tony {

/// One connection. Nothing is read or written before it is asked for, so whoever takes bytes slowly
/// slows down who sends them, and no memory fills up. Callbacks come from the loop, never from
/// within a call to this class, and none after its destruction. Not thread safe: owned by the event
/// loop, which outlives it.
class TcpSocket {
 public:
  /// `bytes` is empty when the peer sends nothing more. Unavailable – the connection is lost.
  using OnRead = std::function<void(absl::StatusOr<std::string> bytes)>;
  /// Unavailable – the connection is lost.
  using OnWritten = std::function<void(const absl::Status&)>;
  /// Unavailable – nobody answers there. InvalidArgument – `address` is no number.
  using OnConnected = std::function<void(absl::StatusOr<std::unique_ptr<TcpSocket>>)>;

  /// `on_connected` follows, once, unless the handle is destroyed before. `address` is a number,
  /// "127.0.0.1" or "::1". The system decides how long it tries.
  [[nodiscard]] static std::unique_ptr<EventLoop::Handle> Connect(EventLoop& loop,
                                                                  const std::string& address,
                                                                  int port,
                                                                  OnConnected on_connected);

  /// Closes. What was written still arrives, unless there is something that was not read.
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  /// Waits for bytes, at most 64 KiB, for which there is no memory until they come. Not again
  /// before the callback.
  void Read(OnRead on_read);
  /// Sends all of `bytes`. Not again before the callback.
  void Write(std::string bytes, OnWritten on_written);
  /// What is sent to several is not copied for each.
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;  ///< follows `own`; null: nothing
  };
  /// Sends all pieces, in their order. Not again before the callback.
  void WritePieces(std::vector<Piece> pieces, OnWritten on_written);
  /// The peer is told that nothing more will come.
  void EndWriting();
  /// Closes so that the peer sees a broken connection, not an end. Callbacks that are due do not
  /// come.
  void Break();

  /// The peer's address as a number; one of version 4 in version 6's clothes ("::ffff:1.2.3.4") as
  /// what it is. Empty when the peer was gone before it could be asked for.
  const std::string& peer_address() const;
  int peer_port() const;
  int local_port() const;

 private:
  friend class TcpListener;
  struct State;

  explicit TcpSocket(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

/// Takes in connections as long as it lives. Not thread safe: owned by the event loop, which
/// outlives it.
class TcpListener {
 public:
  using OnAccepted = std::function<void(std::unique_ptr<TcpSocket>)>;

  /// `address` is a number; port 0: any free one. Whom `peers` does not admit is closed at once.
  /// `on_accepted` may destroy the listener. InvalidArgument – `address` is no number; Unavailable
  /// – it cannot be listened on there.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(EventLoop& loop,
                                                             const std::string& address, int port,
                                                             PeerFilter peers,
                                                             OnAccepted on_accepted);
  /// The same for a caller who asks each peer by himself who it is.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(EventLoop& loop,
                                                             const std::string& address, int port,
                                                             OnAccepted on_accepted);
  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  int port() const;

 private:
  struct State;

  explicit TcpListener(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace tony
