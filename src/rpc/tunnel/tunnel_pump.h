// Joins a socket with one end of a tunnel.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "common/tcp_socket.h"
#include "rpc/tunnel/tunnel_end.h"

namespace tony::rpc {

/// Carries bytes between the socket and the tunnel, in each direction one piece at a time, until
/// both directions have ended or something breaks; then the socket is broken, too. Not thread safe:
/// owned by the event loop.
class TunnelPump {
 public:
  /// The tunnel is closed after this time without a byte in either direction, because its user may
  /// have gone without notice.
  static constexpr std::chrono::minutes kLongestSilence{15};

  /// The most bytes that are carried as one frame. Each frame costs some changes of threads on its
  /// way, so a fast connection needs large ones; what comes slowly is passed on in small ones.
  static constexpr size_t kMostPieceBytes = size_t{1} << 20;

  using Dial = std::function<std::unique_ptr<TunnelEnd>(TunnelEnd::Callbacks)>;
  /// OK – both directions have ended. Unavailable – the socket's peer broke the connection.
  /// DeadlineExceeded – nothing was carried for too long. Otherwise the codes of the Tunnel call.
  /// May destroy the pump.
  using OnDone = std::function<void(const absl::Status&)>;

  TunnelPump(EventLoop& loop, std::unique_ptr<TcpSocket> socket, const Dial& dial, OnDone on_done,
             Duration longest_silence = kLongestSilence);
  /// Breaks what is still open; `on_done` is not called any more.
  ~TunnelPump();
  TunnelPump(const TunnelPump&) = delete;
  TunnelPump& operator=(const TunnelPump&) = delete;

 private:
  void OnWritten();
  void OnFrame(v1::TunnelFrame frame);
  void OnClosed(absl::Status status);
  void ReadSocket();
  void OnSocketRead(absl::StatusOr<std::string> bytes);
  void OnSocketWritten(const absl::Status& status);
  void AwaitBytes();
  void Finish(const absl::Status& status);

  EventLoop& loop_;
  const OnDone on_done_;
  const Duration longest_silence_;
  Lifetime lifetime_;  ///< ends when both directions have ended, or with the pump
  std::unique_ptr<TcpSocket> socket_;
  bool sent_end_ = false;      ///< the end of the socket's direction was sent
  bool received_end_ = false;  ///< the end of the tunnel's direction was received
  bool carried_ = false;       ///< something was carried since the silence timer started
  std::unique_ptr<EventLoop::Handle> silence_;
  std::unique_ptr<TunnelEnd> end_;  ///< last, because its callbacks use the members above
};

}  // namespace tony::rpc
