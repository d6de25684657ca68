// Who may be reached through a tunnel: running tasks, at the ports that they have registered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "rpc/executor_service.h"
#include "rpc/tunnel_relay.h"

namespace tony::appmaster {

/// Answers what clients wish of the relay. Not thread safe: owned by the event loop.
class Tunnels {
 public:
  /// How long an executor may take to answer.
  static constexpr std::chrono::seconds kAnswerPatience{10};

  /// All outlive it.
  Tunnels(EventLoop& loop, const core::JobMachine& machine, rpc::ExecutorService& executors,
          rpc::TunnelRelay& relay)
      : loop_(loop), machine_(machine), executors_(executors), relay_(relay) {}

  void Take(const rpc::TunnelRelay::Wish& wish);

 private:
  absl::Status Ask(const rpc::TunnelRelay::Wish& wish);

  EventLoop& loop_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  rpc::TunnelRelay& relay_;
  std::map<int64_t, std::unique_ptr<EventLoop::Handle>> deadlines_;  ///< by number of the tunnel
};

/// Where a tunnel leads.
struct TunnelTarget {
  std::string container_id;
  int port = 0;
};

/// The container and the port that are meant by a wish. NotFound – there is no such task, or it has
/// not registered this port; FailedPrecondition – it has no program to be reached at the moment.
absl::StatusOr<TunnelTarget> FindTunnelTarget(const core::TaskTable& tasks,
                                              const core::TaskId& task, int port);

}  // namespace tony::appmaster
