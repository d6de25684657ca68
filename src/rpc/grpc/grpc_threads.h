// Whether gRPC has the threads that it calls back on.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"

namespace tony::rpc {

/// Keeps gRPC from shutting down with the last thing that uses it, up to the process's end.
/// Shutting down waits for each of its timer threads, also for one that could not be started
/// (`ulimit -u`): for ever. Thread safe.
void KeepGrpcUp();

/// gRPC starts its threads when they are first needed, and where it may start none (`ulimit -u`) it
/// says nothing, and never calls back. This makes it start them now, before anybody waits for it,
/// by a call that needs no connection; they stay for as long as this lives. Thread safe.
class GrpcThreads {
 public:
  /// Does not wait for gRPC. ResourceExhausted – this process may start no thread of its own,
  /// before gRPC has started its own or after that, so gRPC has not got what it needs either; the
  /// message names the limit.
  static absl::StatusOr<std::unique_ptr<GrpcThreads>> Start();
  ~GrpcThreads();
  GrpcThreads(const GrpcThreads&) = delete;
  GrpcThreads& operator=(const GrpcThreads&) = delete;

  /// Looks once more after some seconds, on the loop: other programs of the user may have been
  /// faster in taking the last threads. Where gRPC, which calls back at once if it can, has not
  /// done so by then, `on_silence` is called with ResourceExhausted. Both `loop` and this outlive
  /// the handle.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Watch(
      EventLoop& loop, std::function<void(const absl::Status& why)> on_silence) const;

 private:
  class Probe;
  explicit GrpcThreads(std::unique_ptr<Probe> probe);

  std::unique_ptr<Probe> probe_;
};

}  // namespace tony::rpc
