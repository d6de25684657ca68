// Who may be reached through a tunnel: running tasks, at the ports that they have registered, and
// the logs of containers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "rpc/services/executor_service.h"
#include "rpc/tunnel/tunnel_relay.h"

namespace tony::appmaster {

/// Answers what clients wish of the relay. Not thread safe: owned by the event loop.
class Tunnels {
 public:
  /// How long an executor may take to answer.
  static constexpr std::chrono::seconds kAnswerPatience{10};

  /// Sends this process's own logs. NotFound – another ApplicationMaster's are wanted, or there are
  /// none; the codes of rpc::LogSenders::Send().
  using SendOwnLogs = std::function<absl::Status(const rpc::TunnelRelay::Wish& wish)>;

  /// All outlive it.
  Tunnels(EventLoop& loop, const core::JobMachine& machine, rpc::ExecutorService& executors,
          rpc::TunnelRelay& relay, SendOwnLogs send_own_logs)
      : loop_(loop),
        machine_(machine),
        executors_(executors),
        relay_(relay),
        send_own_logs_(std::move(send_own_logs)) {}

  void Take(const rpc::TunnelRelay::Wish& wish);

 private:
  absl::Status Ask(const rpc::TunnelRelay::Wish& wish);

  EventLoop& loop_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  rpc::TunnelRelay& relay_;
  const SendOwnLogs send_own_logs_;
  std::map<int64_t, std::unique_ptr<EventLoop::Handle>> deadlines_;  ///< by number of the tunnel
};

/// Where a tunnel leads.
struct TunnelTarget {
  std::string container_id;
  int port = 0;
};

/// The container and the port that are meant by a wish for a port. NotFound – there is no such
/// task, or it has not registered this port; FailedPrecondition – it has no program to be reached
/// at the moment; PermissionDenied – an executor wants to reach another task than the job's driver.
absl::StatusOr<TunnelTarget> FindTunnelTarget(const core::TaskTable& tasks,
                                              const rpc::TunnelRelay::Wish& wish);

/// Whether the executor of container `id` can be asked for its logs. NotFound – the container is
/// not the job's (any more); FailedPrecondition – its executor has no connection at the moment.
absl::Status CheckLogContainer(const core::TaskTable& tasks, const std::string& id);

}  // namespace tony::appmaster
