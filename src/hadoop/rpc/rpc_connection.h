// One connection of Hadoop's RPC protocol, version 9, with any number of calls in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "hadoop/auth/rpc_identity.h"
#include "hadoop/auth/sasl_negotiation.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/common/rpc.pb.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

struct RpcConnectionOptions {
  /// Limit from the start of connecting to the end of authentication.
  Duration connect_timeout = std::chrono::seconds(10);
  /// Interval of the pings that are sent while calls wait and the server sends nothing.
  Duration ping_interval = std::chrono::seconds(60);
  /// Longest accepted frame; a longer one is an error. Hadoop's own limit is 128 MiB.
  size_t max_frame_bytes = size_t{128} * 1024 * 1024;
};

/// ```
///  CONNECTING ──▶ AUTHENTICATING ──▶ READY ──▶ CLOSED      without an identity that authenticates,
///      └────────────────────────────▶ READY                 the server trusts the user's name
/// ```
/// Calls may be made at once: they are sent when the connection is ready, and answered in any
/// order. Any error of the connection ends all calls and closes the connection for good.
/// Not thread safe: owned by the event loop.
class RpcConnection {
 public:
  /// Callback of a call; gets the answer's serialized message.
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  /// Starts to connect. `protocol`: the protocol's Java name, e.g. kApplicationClient. `closed` is
  /// called once, when the connection cannot be used any more, after the calls in flight have ended
  /// with the same status. The callback may destroy the connection.
  RpcConnection(EventLoop& loop, const Endpoint& server, std::string protocol, RpcIdentity identity,
                RpcConnectionOptions options, std::function<void(const absl::Status&)> closed);
  /// Closes the connection; callbacks of calls in flight are not called.
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;
  RpcConnection& operator=(const RpcConnection&) = delete;

  /// Calls `method` with the serialized `request`. `done` is called once, from the loop:
  /// DeadlineExceeded – no answer within `timeout`; Unavailable – no connection, or it was lost;
  /// DataLoss – the server's bytes are no answer; the codes of RemoteException, and of
  /// SaslNegotiation. A call on a closed connection ends with the status that closed it.
  void Call(const std::string& method, const std::string& request, Duration timeout, Done done);

  /// Ends all calls with `status`, closes the connection, and calls `closed` with `status`. Does
  /// nothing if the connection is closed already.
  void Close(const absl::Status& status);

  const Endpoint& server() const { return server_; }
  /// Time of the server's last bytes; a default TimePoint if the server has sent nothing.
  TimePoint last_heard() const { return last_heard_; }

 private:
  enum class State { kConnecting, kAuthenticating, kReady, kClosed };
  using ResponseHeader = ::hadoop::common::RpcResponseHeaderProto;
  struct CallInFlight {
    std::string method;
    Done done;
    std::unique_ptr<EventLoop::Handle> deadline;
  };

  void OnConnected();
  void OnReceived(const char* data, size_t size);
  absl::Status ReadFrames(FrameReader& reader, bool unwrapped);
  absl::Status OnFrame(const std::string& frame, bool unwrapped);
  absl::Status OnSasl(MessageReader& reader);
  absl::Status OnProtected(const std::string& token);
  absl::Status OnAnswer(const ResponseHeader& header, MessageReader& reader);
  absl::Status BecomeReady();
  void EndCall(int32_t id, absl::StatusOr<std::string> result);
  void OnDeadline(int32_t id, Duration timeout);
  void KeepAlive();

  ::hadoop::common::RpcRequestHeaderProto Header(int32_t call_id) const;
  void SendSasl(const SaslNegotiation::Message& message);
  /// Sends `frame`, wrapped if a protection was agreed on.
  absl::Status SendFrame(const std::string& frame);

  EventLoop& loop_;
  const Endpoint server_;
  const std::string protocol_;
  const RpcIdentity identity_;
  const RpcConnectionOptions options_;
  const std::string client_id_;
  std::function<void(const absl::Status&)> closed_;

  State state_ = State::kConnecting;
  absl::Status why_closed_;
  SaslNegotiation negotiation_;
  std::unique_ptr<SaslMechanism> protection_;  ///< null: frames are sent as they are
  FrameReader outer_frames_;
  FrameReader inner_frames_;  ///< frames inside the protected stream
  std::string unsent_;        ///< frames of calls that wait for kReady
  std::unordered_map<int32_t, CallInFlight> calls_;
  int32_t next_id_ = 0;
  const SystemClock clock_;
  TimePoint last_heard_;
  std::unique_ptr<EventLoop::Handle> connect_deadline_;
  std::unique_ptr<EventLoop::Handle> keep_alive_;
  Lifetime lifetime_;
  std::unique_ptr<TcpStream> stream_;
};

}  // namespace tony::hadoop
