// The RPC client for programs that have no event loop of their own.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "hadoop/rpc/rpc_client.h"

namespace tony::hadoop {

/// An RpcClient with an event loop of its own, which runs only while a call waits. Not thread safe.
class BlockingRpcClient {
 public:
  /// `stop`: ends the call that is under way, and each later one, with Cancelled.
  explicit BlockingRpcClient(RpcClientOptions options, std::stop_token stop = {})
      : stop_(std::move(stop)), client_(loop_, std::move(options)) {}

  /// Blocks until the call has ended and returns its result, with the codes of RpcClient::Call().
  /// Cancelled – somebody has stopped it.
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(const std::string& method, const Request& request, Duration timeout,
                                Retry retry = Retry::kUntilDeadline) {
    // A stopped call stays with the client, so it shares the result.
    const auto result = std::make_shared<absl::StatusOr<Response>>(absl::CancelledError(method));
    if (stop_.stop_requested()) return std::move(*result);
    client_.Call<Response>(method, request, timeout, retry,
                           [this, result](absl::StatusOr<Response> response) {
                             *result = std::move(response);
                             loop_.Stop();
                           });
    // Through the loop, since a Stop() before Run() would be forgotten.
    const std::stop_callback stopped(stop_, [this] { loop_.Post([this] { loop_.Stop(); }); });
    loop_.Run();
    return std::move(*result);
  }

 private:
  const std::stop_token stop_;
  EventLoop loop_;
  RpcClient client_;
};

}  // namespace tony::hadoop
