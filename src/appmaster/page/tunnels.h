// Decides what a tunnel may reach: ports of running tasks, commands beside their programs, and the
// logs of containers.
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

/// Answers the wishes that the relay receives. Not thread safe: owned by the event loop.
class Tunnels {
 public:
  /// The time within which an executor must answer.
  static constexpr std::chrono::seconds kAnswerPatience{10};

  /// Sends this process's own logs. NotFound – the wish names another ApplicationMaster's logs, or
  /// this one has none. Otherwise the codes of rpc::LogSenders::Send().
  using SendOwnLogs = std::function<absl::Status(const rpc::TunnelRelay::Wish& wish)>;

  /// Records that a command runs in a task.
  using NoteExec = std::function<void(const std::string& sentence)>;

  /// All references must outlive this object.
  Tunnels(EventLoop& loop, const core::JobMachine& machine, rpc::ExecutorService& executors,
          rpc::TunnelRelay& relay, SendOwnLogs send_own_logs, NoteExec note_exec)
      : loop_(loop),
        machine_(machine),
        executors_(executors),
        relay_(relay),
        send_own_logs_(std::move(send_own_logs)),
        note_exec_(std::move(note_exec)) {}

  void Take(const rpc::TunnelRelay::Wish& wish);

 private:
  absl::Status Ask(const rpc::TunnelRelay::Wish& wish);

  EventLoop& loop_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  rpc::TunnelRelay& relay_;
  const SendOwnLogs send_own_logs_;
  const NoteExec note_exec_;
  std::map<int64_t, std::unique_ptr<EventLoop::Handle>> deadlines_;  ///< by tunnel number
};

/// The container and port to which a tunnel leads.
struct TunnelTarget {
  std::string container_id;
  int port = 0;
};

/// Finds the task whose program runs. NotFound – there is no such task. FailedPrecondition – it has
/// no running program, or its executor has no connection at the moment.
absl::StatusOr<const core::Task*> FindRunningTask(const core::TaskTable& tasks,
                                                  const core::TaskId& id);

/// Finds the container and the port for a wish for a port. The executor decides about a port that
/// the task has not registered. The codes of FindRunningTask(); NotFound – also: the task has no
/// port to be chosen, or an executor wants one that the driver has not registered.
/// PermissionDenied – an executor wants to reach another task than the job's driver.
absl::StatusOr<TunnelTarget> FindTunnelTarget(const core::TaskTable& tasks,
                                              const rpc::TunnelRelay::Wish& wish);

/// Finds the container for a command, if the job allows commands at all. The codes of
/// FindRunningTask(); PermissionDenied – it does not.
absl::StatusOr<std::string> FindExecContainer(const core::JobMachine& machine,
                                              const core::TaskId& id);

/// Whether the executor of container `id` can be asked for its logs. NotFound – the job does not
/// hold the container (any more). FailedPrecondition – its executor has no connection at the
/// moment.
absl::Status CheckLogContainer(const core::TaskTable& tasks, const std::string& id);

}  // namespace tony::appmaster
