// One end of a tunnel: a client's or an executor's stream to the ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/model/task_id.h"
#include "rpc/security/credentials.h"

namespace grpc {
class Channel;
}
namespace tony::v1 {
class ExecWish;
class LogWish;
class TunnelFrame;
}  // namespace tony::v1

namespace tony::rpc {

/// Open from construction until on_closed or destruction. Thread safe; callbacks come from gRPC's
/// threads, and never after the destructor has returned.
class TunnelEnd {
 public:
  struct Callbacks {
    /// Answers Read().
    std::function<void(v1::TunnelFrame)> on_frame;
    /// Called once when the opening frame has been written; after that it answers Write().
    std::function<void()> on_written;
    /// The stream is over; OK if both directions had ended. Called exactly once, as the last
    /// callback.
    std::function<void(absl::Status)> on_closed;
  };

  virtual ~TunnelEnd() = default;

  /// Asks for the next frame, which is `data`, `log`, `exec` or `end`. Must not be called again
  /// before on_frame. The stream's end is noticed only while a frame is asked for.
  virtual void Read() = 0;
  /// Sends a frame. Must not be called before on_written.
  virtual void Write(v1::TunnelFrame frame) = 0;
};

/// Opens ends of tunnels over one connection to an ApplicationMaster. Thread safe.
class TunnelDialer {
 public:
  explicit TunnelDialer(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
  /// Uses a new connection of its own.
  TunnelDialer(const std::string& master_address, const Credentials& credentials);

  /// For a client: opens a tunnel to a task's port; see TunnelOpen.
  std::unique_ptr<TunnelEnd> Open(const core::TaskId& task, int port,
                                  TunnelEnd::Callbacks callbacks) const;
  /// For a client: opens a tunnel through which pieces of logs arrive.
  std::unique_ptr<TunnelEnd> OpenLogs(const v1::LogWish& wish,
                                      TunnelEnd::Callbacks callbacks) const;
  /// For a client: opens a tunnel to a command in a task's container.
  std::unique_ptr<TunnelEnd> OpenExec(const core::TaskId& task, const v1::ExecWish& wish,
                                      TunnelEnd::Callbacks callbacks) const;
  /// For an executor: opens a tunnel to the port that the job's driver has registered.
  std::unique_ptr<TunnelEnd> Reach(TunnelEnd::Callbacks callbacks) const;
  /// For an executor: answers OpenTunnel. `refusal`: why it could not connect, passed on to the
  /// client unchanged; OK: it has connected.
  std::unique_ptr<TunnelEnd> Answer(int64_t tunnel, const absl::Status& refusal,
                                    TunnelEnd::Callbacks callbacks) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace tony::rpc
