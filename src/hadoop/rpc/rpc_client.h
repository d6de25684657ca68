// RPC client of a service that consists of one or several servers, of which one is active.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/lifetime.h"
#include "hadoop/rpc/rpc_connection.h"

namespace tony::hadoop {

/// Whether a call is sent again when no active server has answered it: the connection was lost, or
/// the server is not the active one.
enum class Retry {
  kUntilDeadline,  ///< sent again until the deadline; the server may then see the request twice
  kNever,
};

struct RpcClientOptions {
  std::string protocol;  ///< see protocols.h
  /// The service's servers, at least one. They are tried in a ring, beginning with the first: the
  /// client moves on when a server cannot be reached or is not the active one.
  std::vector<Endpoint> servers;
  RpcIdentity identity;
  RpcConnectionOptions connection;
  /// Exponential backoff with jitter after a round in which all servers failed: `first_backoff` is
  /// doubled with each further round, up to `longest_backoff`.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration longest_backoff = std::chrono::seconds(5);
};

/// Keeps one connection. The first call opens it. The client replaces it when it is lost, or when a
/// call's deadline passes and the server has sent nothing at all since that call was sent.
/// Not thread safe: owned by the event loop.
class RpcClient {
 public:
  using Done = RpcConnection::Done;

  RpcClient(EventLoop& loop, RpcClientOptions options);
  /// Drops calls in flight: their callbacks are not called.
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  /// Calls `method` with `request`; `done` gets a StatusOr<Response>, once, from the loop.
  /// DeadlineExceeded – no answer within `timeout`; the message has the last error if the server
  /// could not be reached. Unavailable – with Retry::kNever: the server could not be reached.
  /// DataLoss – the server's bytes are no answer, or no Response. Otherwise the codes of
  /// RpcConnection::Call.
  template <typename Response, typename Request, typename Callback>
  void Call(const std::string& method, const Request& request, Duration timeout, Retry retry,
            Callback done) {
    CallBytes(method, request.SerializePartialAsString(), timeout, retry,
              [method, done = std::move(done)](absl::StatusOr<std::string> answer) {
                done(Parse<Response>(method, std::move(answer)));
              });
  }

  /// Same as Call, for messages in serialized form.
  void CallBytes(const std::string& method, std::string request, Duration timeout, Retry retry,
                 Done done);

  /// Uses `token` for connections opened from now on. The open connection stays: servers
  /// authenticate a connection only once.
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
    std::unique_ptr<EventLoop::Handle> timer;  ///< deadline, while the call waits for a server
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
  std::list<CallIterator> waiting_;  ///< calls that wait for the end of the backoff
  std::unique_ptr<RpcConnection> connection_;
  uint64_t connection_number_ = 0;
  size_t server_ = 0;                           ///< index of the server to connect to
  absl::Status why_left_;                       ///< why the last connection was given up
  size_t failures_ = 0;                         ///< failures in a row, over all servers
  std::unique_ptr<EventLoop::Handle> backoff_;  ///< not null during the backoff: nothing is sent
  Lifetime lifetime_;
};

}  // namespace tony::hadoop
