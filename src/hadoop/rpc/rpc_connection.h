// One connection of Hadoop's RPC, version 9, with any number of calls in flight.
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
#include "hadoop/auth/rpc_identity.h"
#include "hadoop/auth/sasl_negotiation.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/common/rpc.pb.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

struct RpcConnectionOptions {
  /// From the start to the end of authentication.
  Duration connect_timeout = std::chrono::seconds(10);
  /// While calls wait and nothing comes, the server is sent a sign of life this often.
  Duration ping_interval = std::chrono::seconds(60);
  /// A longer answer is an error. Hadoop's own limit is 128 MiB.
  size_t max_frame_bytes = size_t{128} * 1024 * 1024;
};

/// ```
///  CONNECTING ──▶ AUTHENTICATING ──▶ READY ──▶ CLOSED      without an identity that authenticates:
///      └────────────────────────────▶ READY                 the user's name is told and believed
/// ```
/// Calls may be made at once; they are sent when it is ready, and answered in any order. Whatever
/// goes wrong with the connection ends all calls and closes it for good.
/// Not thread safe: owned by the event loop.
class RpcConnection {
 public:
  /// Of a call: the answer's message, not parsed.
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  /// Starts to connect. `protocol` is the Java name of what is spoken, e.g. kApplicationClient.
  /// `closed` is called once, when it cannot be used any more, after the calls in flight have been
  /// ended with the same status; the object may be destroyed in it.
  RpcConnection(EventLoop& loop, const Endpoint& server, std::string protocol, RpcIdentity identity,
                RpcConnectionOptions options, std::function<void(const absl::Status&)> closed);
  /// Closes; callbacks of calls in flight are not called.
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;
  RpcConnection& operator=(const RpcConnection&) = delete;

  /// Calls `method` with the serialized `request`. `done` is called once, from the loop:
  /// DeadlineExceeded – no answer within `timeout`; Unavailable – no connection, or it was lost;
  /// DataLoss – what the server sends is no answer; the codes of RemoteException, and of
  /// SaslNegotiation. A call to a closed connection ends with what closed it.
  void Call(const std::string& method, const std::string& request, Duration timeout, Done done);

  /// Ends all calls with `status`, calls `closed` with it, and closes. Nothing when it is closed.
  void Close(const absl::Status& status);

  const Endpoint& server() const { return server_; }
  /// When the server last sent anything; before that, the clock's beginning.
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
  /// Protected, if that was agreed on.
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
  FrameReader inner_frames_;  ///< of the protected stream
  std::string unsent_;        ///< frames of calls that wait for kReady
  std::unordered_map<int32_t, CallInFlight> calls_;
  int32_t next_id_ = 0;
  const SystemClock clock_;
  TimePoint last_heard_;
  std::unique_ptr<EventLoop::Handle> connect_deadline_;
  std::unique_ptr<EventLoop::Handle> keep_alive_;
  std::shared_ptr<bool> alive_;  ///< false once this is destroyed: for code that runs callbacks
  std::unique_ptr<TcpStream> stream_;
};

}  // namespace tony::hadoop
