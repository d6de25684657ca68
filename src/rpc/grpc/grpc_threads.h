// Makes sure that gRPC has the threads on which it calls back.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"

namespace tony::rpc {

/// Keeps gRPC initialized until the process ends, instead of letting it shut down with its last
/// user. The shutdown waits for each of gRPC's timer threads, and for ever for one that could not
/// be started (`ulimit -u`). Thread safe.
void KeepGrpcUp();

/// Makes gRPC start its threads now, by a call that needs no connection; the threads stay as long
/// as this object lives. By default gRPC starts them when they are first needed. If it may not
/// start any (`ulimit -u`), it reports nothing and never calls back. Thread safe.
class GrpcThreads {
 public:
  /// Does not wait for gRPC. ResourceExhausted – this process cannot start a thread of its own,
  /// before or after gRPC has started its threads, so gRPC lacks threads, too; the message names
  /// the limit.
  static absl::StatusOr<std::unique_ptr<GrpcThreads>> Start();
  ~GrpcThreads();
  GrpcThreads(const GrpcThreads&) = delete;
  GrpcThreads& operator=(const GrpcThreads&) = delete;

  /// Checks once more after some seconds, on the loop, because the user's other programs may have
  /// taken the last threads first. If gRPC has not called back by then, `on_silence` is called with
  /// ResourceExhausted; a gRPC that has threads calls back at once. `loop` and this object must
  /// outlive the handle.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Watch(
      EventLoop& loop, std::function<void(const absl::Status& why)> on_silence) const;

 private:
  class Probe;
  explicit GrpcThreads(std::unique_ptr<Probe> probe);

  std::unique_ptr<Probe> probe_;
};

}  // namespace tony::rpc
