// Failover: a call is either in flight on the connection or in `waiting_` until the backoff ends.
// A failed connection moves the client to the next server; a full round of failures starts a
// backoff.
#include "hadoop/rpc/rpc_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::hadoop {
namespace {

// A random duration between half and all of `duration`, so that many clients do not return in step.
Duration WithJitter(Duration duration) {
  std::random_device random;
  return duration / 2 + Duration(random() % std::max<Duration::rep>(1, duration.count() / 2));
}

}  // namespace

RpcClient::RpcClient(EventLoop& loop, RpcClientOptions options)
    : loop_(loop), options_(std::move(options)) {}

RpcClient::~RpcClient() = default;

void RpcClient::CallBytes(const std::string& method, std::string request, Duration timeout,
                          Retry retry, Done done) {
  calls_.push_back({.method = method,
                    .request = std::move(request),
                    .deadline = clock_.Now() + timeout,
                    .timeout = timeout,
                    .retry = retry,
                    .done = std::move(done)});
  Send(std::prev(calls_.end()));
}

void RpcClient::Connect() {
  const uint64_t number = ++connection_number_;
  connection_ = std::make_unique<RpcConnection>(
      loop_, options_.servers[server_], options_.protocol, options_.identity, options_.connection,
      [this, number](const absl::Status& why) { LeaveServer(number, why); });
}

void RpcClient::Send(CallIterator call) {
  const Duration left = call->deadline - clock_.Now();
  if (backoff_ != nullptr) {
    call->timer = loop_.After(left, [this, call] {
      waiting_.remove(call);
      // An error of the call's own names the method already; the connection's error does not.
      if (call->last_error.ok()) call->last_error = Annotate(why_left_, call->method);
      Finish(call, absl::DeadlineExceededError(call->method));
    });
    waiting_.push_back(call);
    return;
  }
  call->timer = nullptr;
  call->sent = clock_.Now();
  if (connection_ == nullptr) Connect();
  connection_->Call(call->method, call->request, left,
                    [this, call, number = connection_number_](absl::StatusOr<std::string> result) {
                      OnResult(call, number, std::move(result));
                    });
}

void RpcClient::OnResult(CallIterator call, uint64_t connection,
                         absl::StatusOr<std::string> result) {
  // A server that sent nothing since the call left may hang or be cut off without a reset. The
  // client then leaves the connection. A connection that newer bytes arrived on is only slow.
  const bool silent = absl::IsDeadlineExceeded(result.status()) &&
                      connection == connection_number_ && connection_ != nullptr &&
                      connection_->last_heard() < call->sent;
  if (silent) LeaveServer(connection, result.status());
  if (!absl::IsUnavailable(result.status())) {
    // Any answer other than Unavailable shows that this is the active server.
    if (!silent) failures_ = 0;
    return Finish(call, std::move(result));
  }
  LeaveServer(connection, result.status());
  if (call->retry == Retry::kNever) return Finish(call, std::move(result));
  call->last_error = result.status();
  LogDebug("a call of a Hadoop server is tried again",
           {{"method", call->method}, {"peer", ToString(options_.servers[server_])}});
  Send(call);
}

void RpcClient::Finish(CallIterator call, absl::StatusOr<std::string> result) {
  PendingCall finished = std::move(*call);
  calls_.erase(call);
  if (absl::IsDeadlineExceeded(result.status()) && !finished.last_error.ok()) {
    result = absl::DeadlineExceededError(
        absl::StrCat(std::string(finished.last_error.message()), "; tried again for ",
                     std::chrono::duration<double>(finished.timeout).count(), " s"));
  }
  finished.done(std::move(result));
}

// All calls of a lost connection report it. Its number makes only the first report count.
void RpcClient::LeaveServer(uint64_t connection, const absl::Status& why) {
  if (connection != connection_number_ || connection_ == nullptr) return;
  why_left_ = why;
  LogDebug("a connection to a Hadoop server is given up",
           {{"peer", ToString(options_.servers[server_])}, {"why", why.message()}});
  // A connection that worked and was then lost may have been idle for too long, so the same server
  // is tried again. A silent server, or one that answered with an exception, is left.
  const bool was_good = connection_->last_heard() != TimePoint() &&
                        !absl::IsDeadlineExceeded(why) && RemoteExceptionName(why).empty();
  if (!was_good) server_ = (server_ + 1) % options_.servers.size();
  // The connection is closed from the loop, since it may be the caller of this function. Close ends
  // its other calls, and their results come back to OnResult.
  loop_.Post(lifetime_.Guard([left = std::shared_ptr<RpcConnection>(std::move(connection_)), why] {
    left->Close(absl::UnavailableError(why.message()));
  }));
  ++failures_;
  // The next server is tried at once. Only a full round of failures starts the backoff.
  if (failures_ % options_.servers.size() != 0) return;
  const size_t rounds = std::min<size_t>(failures_ / options_.servers.size() - 1, 16);
  const Duration backoff =
      std::min(options_.longest_backoff, options_.first_backoff * (int64_t{1} << rounds));
  LogDebug("no Hadoop server answers: waiting before the next try",
           {{"protocol", options_.protocol}, {"failures", failures_}, {"why", why.message()}});
  backoff_ = loop_.After(WithJitter(backoff), [this] { Resume(); });
}

void RpcClient::Resume() {
  backoff_ = nullptr;
  for (const CallIterator call : std::exchange(waiting_, {})) Send(call);
}

}  // namespace tony::hadoop
