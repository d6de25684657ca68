// Calls to a service that may be several servers, of which one is active.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "hadoop/rpc/rpc_connection.h"

namespace tony::hadoop {

/// When a call is made again that the server did not answer: the connection was lost, or the
/// server is not the active one.
enum class Retry {
  kUntilDeadline,  ///< the method may be called twice with the same request
  kNever,
};

struct RpcClientOptions {
  std::string protocol;  ///< see protocols.h
  /// At least one. The first is tried first, the next when the one before is not there or not the
  /// active one, and so on in a ring.
  std::vector<Endpoint> servers;
  RpcIdentity identity;
  RpcConnectionOptions connection;
  /// Waited before the servers are tried again; doubled each time, up to the second, with jitter.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration longest_backoff = std::chrono::seconds(5);
};

/// Keeps one connection, which it makes with the first call and again when it is lost, or when a
/// call's deadline has come and the server has said nothing at all since the call was sent.
/// Not thread safe: owned by the event loop.
class RpcClient {
 public:
  using Done = RpcConnection::Done;

  RpcClient(EventLoop& loop, RpcClientOptions options);
  /// Callbacks of calls in flight are not called.
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  /// Calls `method` with `request`; `done` gets a StatusOr<Response>, once, from the loop.
  /// DeadlineExceeded – no answer within `timeout`, with the last error if the server could not be
  /// reached; Unavailable – the same with Retry::kNever; DataLoss – what the server sends is no
  /// answer, or no Response; otherwise the codes of RpcConnection::Call.
  template <typename Response, typename Request, typename Callback>
  void Call(const std::string& method, const Request& request, Duration timeout, Retry retry,
            Callback done) {
    CallBytes(method, request.SerializePartialAsString(), timeout, retry,
              [method, done = std::move(done)](absl::StatusOr<std::string> answer) {
                done(Parse<Response>(method, std::move(answer)));
              });
  }

  /// The same for messages in serialized form.
  void CallBytes(const std::string& method, std::string request, Duration timeout, Retry retry,
                 Done done);

  /// Connections from now on use `token`; the one that is open stays, as servers do not ask again.
  void SetToken(Token token) { options_.identity.token = std::move(token); }

 private:
  struct PendingCall {
    std::string method;
    std::string request;
    TimePoint deadline;
    Duration timeout;
    Retry retry;
    Done done;
    TimePoint sent;
    absl::Status last_error;
    std::unique_ptr<EventLoop::Handle> timer;  ///< of the deadline, while it waits for a server
  };
  using CallIterator = std::list<PendingCall>::iterator;

  template <typename Response>
  static absl::StatusOr<Response> Parse(const std::string& method,
                                        absl::StatusOr<std::string> answer) {
    if (!answer.ok()) return answer.status();
    Response response;
    if (response.ParsePartialFromString(*answer) && response.IsInitialized()) return response;
    return absl::DataLossError(
        absl::StrCat(method, ": the server's answer is no ", response.GetTypeName()));
  }

  void Send(CallIterator call);
  void OnResult(CallIterator call, uint64_t connection, absl::StatusOr<std::string> result);
  void Finish(CallIterator call, absl::StatusOr<std::string> result);
  void LeaveServer(uint64_t connection, const absl::Status& why);
  void Resume();
  void Connect();

  EventLoop& loop_;
  RpcClientOptions options_;
  const SystemClock clock_;
  std::list<PendingCall> calls_;
  std::list<CallIterator> waiting_;  ///< for the end of the backoff
  std::unique_ptr<RpcConnection> connection_;
  uint64_t connection_number_ = 0;
  size_t server_ = 0;                           ///< index of the one to connect to
  absl::Status why_left_;                       ///< the last connection
  size_t failures_ = 0;                         ///< in a row, of all servers
  std::unique_ptr<EventLoop::Handle> backoff_;  ///< not null: nothing is sent now
  std::shared_ptr<bool> alive_;                 ///< false once this is destroyed
};

}  // namespace tony::hadoop
