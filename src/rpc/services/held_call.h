// A unary call that is answered later.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "rpc/convert/status_convert.h"

namespace tony::rpc {

/// A server reactor that is answered later, or cancelled. Lives until gRPC is done with it and no
/// answer can come any more. Thread safe.
class HeldCall : public grpc::ServerUnaryReactor {
 public:
  /// A call that gRPC keeps alive until it is done with it.
  static std::shared_ptr<HeldCall> Make() {
    std::shared_ptr<HeldCall> call(new HeldCall());
    call->self_ = call;
    return call;
  }

  /// Answers with `status`; if it is OK, after `fill` has written the response. Only the first
  /// answer counts: once the caller is gone, the response is gRPC's again.
  void Answer(const absl::Status& status, const std::function<void()>& fill = nullptr) {
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(answered_, true)) return;
    }
    if (fill && status.ok()) fill();
    Finish(ToGrpc(status));
  }

  void OnCancel() override { Answer(absl::CancelledError("nobody waits for the answer any more")); }
  void OnDone() override { self_.reset(); }

 private:
  HeldCall() = default;

  std::mutex mutex_;
  bool answered_ = false;
  std::shared_ptr<HeldCall> self_;
};

}  // namespace tony::rpc
