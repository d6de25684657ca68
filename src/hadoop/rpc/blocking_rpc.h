// The RPC client for programs that have no event loop of their own.
#pragma once

#include <string>
#include <utility>

#include "common/event_loop.h"
#include "hadoop/rpc/rpc_client.h"

namespace tony::hadoop {

/// An RpcClient with an event loop of its own, which runs only while a call waits. Not thread safe.
class BlockingRpcClient {
 public:
  explicit BlockingRpcClient(RpcClientOptions options) : client_(loop_, std::move(options)) {}

  /// Blocks until the call has ended and returns its result, with the codes of RpcClient::Call().
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(const std::string& method, const Request& request, Duration timeout,
                                Retry retry = Retry::kUntilDeadline) {
    absl::StatusOr<Response> result = absl::CancelledError(method);
    client_.Call<Response>(method, request, timeout, retry, [&](absl::StatusOr<Response> response) {
      result = std::move(response);
      loop_.Stop();
    });
    loop_.Run();
    return result;
  }

 private:
  EventLoop loop_;
  RpcClient client_;
};

}  // namespace tony::hadoop
