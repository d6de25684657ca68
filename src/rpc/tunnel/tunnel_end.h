// One end of a tunnel: a client's or an executor's stream to the ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/model/task_id.h"
#include "rpc/security/credentials.h"
#include "tony/v1/application_master.pb.h"

namespace grpc {
class Channel;
}

namespace tony::rpc {

/// Open from construction until on_closed or destruction. Thread safe; callbacks come from gRPC's
/// threads, and none after the destructor has returned.
class TunnelEnd {
 public:
  struct Callbacks {
    /// Answers Read().
    std::function<void(v1::TunnelFrame)> on_frame;
    /// The opening frame is on its way; then it answers Write().
    std::function<void()> on_written;
    /// The stream is over: OK when both directions had ended. Comes exactly once, as the last.
    std::function<void(absl::Status)> on_closed;
  };

  virtual ~TunnelEnd() = default;

  /// Wants the next frame, which is `data`, `log` or `end`. Not again before on_frame. The stream's
  /// end is noticed while a frame is wanted.
  virtual void Read() = 0;
  /// Sends a frame. Not before on_written.
  virtual void Write(v1::TunnelFrame frame) = 0;
};

/// Makes ends of tunnels over one connection to an ApplicationMaster. Thread safe.
class TunnelDialer {
 public:
  explicit TunnelDialer(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
  /// With a connection of its own.
  TunnelDialer(const std::string& master_address, const Credentials& credentials);

  /// For a client: to a port of a task; see TunnelOpen.
  std::unique_ptr<TunnelEnd> Open(const core::TaskId& task, int port,
                                  TunnelEnd::Callbacks callbacks) const;
  /// For a client: to logs, of which pieces come.
  std::unique_ptr<TunnelEnd> OpenLogs(const v1::LogWish& wish,
                                      TunnelEnd::Callbacks callbacks) const;
  /// For an executor: to the port of the job's driver that it has registered.
  std::unique_ptr<TunnelEnd> Reach(TunnelEnd::Callbacks callbacks) const;
  /// For an executor: answers OpenTunnel. `refusal`: why it could not connect, which the client
  /// hears as it is; OK: it has.
  std::unique_ptr<TunnelEnd> Answer(int64_t tunnel, const absl::Status& refusal,
                                    TunnelEnd::Callbacks callbacks) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace tony::rpc
