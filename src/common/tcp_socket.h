// TCP connections and listening sockets on the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/byte_stream.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"

namespace tony {

/// One connection. It reads and writes only on request, so a slow consumer slows down the sender,
/// and no memory fills up. Callbacks come from the loop, never from within a call to this class,
/// and none comes after its destruction. Not thread safe: owned by the event loop, which outlives
/// it.
class TcpSocket {
 public:
  /// `bytes` is empty when the peer sends nothing more. Unavailable – the connection is lost.
  using OnRead = std::function<void(absl::StatusOr<std::string> bytes)>;
  /// Unavailable – the connection is lost.
  using OnWritten = std::function<void(const absl::Status&)>;
  /// Unavailable – nobody answers at the address. InvalidArgument – `address` is not numeric.
  using OnConnected = std::function<void(absl::StatusOr<std::unique_ptr<TcpSocket>>)>;

  /// Calls `on_connected` once, unless the handle is destroyed before. `address`: numeric, such as
  /// "127.0.0.1" or "::1". The system decides how long it tries.
  [[nodiscard]] static std::unique_ptr<EventLoop::Handle> Connect(EventLoop& loop,
                                                                  const std::string& address,
                                                                  int port,
                                                                  OnConnected on_connected);

  /// Closes the connection. Written bytes still arrive, unless received bytes are left unread.
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  /// Waits for bytes, at most `most`; no memory is reserved for them until they come. Must not be
  /// called again before the callback.
  void Read(OnRead on_read, size_t most = size_t{64} * 1024);
  /// Sends all of `bytes`. Must not be called again before the callback.
  void Write(std::string bytes, OnWritten on_written);
  /// Bytes to send; `shared` bytes go to several peers without a copy for each.
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;  ///< follows `own`; null: nothing follows
  };
  /// Sends all pieces in order. Must not be called again before the callback.
  void WritePieces(std::vector<Piece> pieces, OnWritten on_written);
  /// Tells the peer that nothing more will come.
  void EndWriting();
  /// Closes so that the peer sees a broken connection (a reset), not an orderly end. Pending
  /// callbacks do not come.
  void Break();

  /// The peer's numeric address; an IPv4-mapped IPv6 address ("::ffff:1.2.3.4") in its IPv4 form.
  /// Empty if the peer had gone before its address could be read.
  const std::string& peer_address() const;
  int peer_port() const;
  int local_port() const;

 private:
  friend class TcpListener;
  struct State;

  explicit TcpSocket(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

/// Accepts connections as long as it lives. Not thread safe: owned by the event loop, which
/// outlives it.
class TcpListener {
 public:
  using OnAccepted = std::function<void(std::unique_ptr<TcpSocket>)>;
  /// Makes the stream that carries an accepted connection's bytes in another form, such as
  /// encrypted. The stream uses `descriptor`, which does not block and outlives it. Null: the
  /// connection is closed.
  using Wrap = std::function<std::unique_ptr<ByteStream>(int descriptor)>;

  /// Listens on `address`, which is numeric; port 0: any free port. A connection that `peers` does
  /// not admit is closed at once. `wrap`: null – the bytes are sent as they are. `on_accepted` may
  /// destroy the listener. InvalidArgument – `address` is not numeric. Unavailable – the address
  /// and port cannot be listened on.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(EventLoop& loop,
                                                             const std::string& address, int port,
                                                             PeerFilter peers,
                                                             OnAccepted on_accepted,
                                                             Wrap wrap = nullptr);
  /// Listens in the same way, with the same codes, for a caller that checks each peer itself.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(EventLoop& loop,
                                                             const std::string& address, int port,
                                                             OnAccepted on_accepted);
  /// Listens in the same way with `socket`, which is bound already and belongs to the listener from
  /// now on. Unavailable – it cannot listen.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Adopt(EventLoop& loop, int socket,
                                                            PeerFilter peers,
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
