// Reaches the job's TensorBoard or notebook through the tunnel to its task.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "core/record/job_event.h"
#include "rpc/tunnel/tunnel_end.h"
#include "web/gate/program_link.h"

namespace tony::appmaster {

/// Opens a tunnel per connection, as `tony open --tensorboard` does, and through the same relay:
/// the page works where this machine cannot reach the nodes' ports. Not thread safe: owned by the
/// event loop.
class ProgramTunnels : public web::ProgramLinks {
 public:
  using Dialer = std::function<absl::StatusOr<std::shared_ptr<rpc::TunnelDialer>>()>;
  /// The task that serves, and its address; nothing: nothing listens there.
  using Program = std::function<const std::optional<core::VisualizationReady>&()>;

  ProgramTunnels(EventLoop& loop, Dialer dialer, Program program)
      : loop_(loop), dialer_(std::move(dialer)), program_(std::move(program)) {}

  std::string program() override;
  std::string authority() override;
  absl::StatusOr<std::unique_ptr<web::ProgramLink>> Open() override;

 private:
  EventLoop& loop_;
  const Dialer dialer_;
  const Program program_;
};

/// Makes a link of a tunnel that `dial` opens. For ProgramTunnels, and tests.
std::unique_ptr<web::ProgramLink> MakeTunnelLink(
    EventLoop& loop,
    const std::function<std::unique_ptr<rpc::TunnelEnd>(rpc::TunnelEnd::Callbacks)>& dial);

}  // namespace tony::appmaster
