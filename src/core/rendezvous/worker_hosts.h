// The mapping of a job's tasks to Horovod's processes and hosts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/cluster_spec.h"
#include "core/model/task_id.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// True when the tasks of this type are Horovod's processes (kRankedTypes).
bool IsRanked(const std::string& task_type);

/// Processes that share a sequence of local ranks: those on one machine that see the same devices.
struct WorkerHost {
  std::string name;           ///< the HostNameOf() name, with a number if it is taken
  std::vector<TaskId> tasks;  ///< by local rank

  bool operator==(const WorkerHost&) const = default;
};

/// The name of the Horovod host that an endpoint belongs to: the machine's name and the devices
/// that the endpoint sees. Characters that Horovod's paths cannot have become '-'.
std::string HostNameOf(const Endpoint& endpoint);

/// The name of one start of a task's process, as a member of an elastic job: "worker:3/2".
std::string MemberName(const TaskId& task, int attempt);
/// The task in a member's name: "worker:3".
std::string TaskOfMember(const std::string& member);

/// The hosts in the order in which they are first needed: chief, then workers by index. Where each
/// process has its own devices, each is alone on its host, so that its local rank, 0, is the index
/// of a device that it sees. Two machines with the same name get a number each to tell them apart.
std::vector<WorkerHost> WorkerHostsOf(const ClusterSpec& spec);

/// The tasks' names in the order in which PlanSlots() gives ranks to these hosts.
std::vector<std::string> TasksByRank(const std::vector<WorkerHost>& hosts);

/// The form "host:2,other:1", with the number of tasks.
std::string FormatWorkerList(const std::vector<WorkerHost>& hosts);
/// Inverse of FormatWorkerList. InvalidArgument – the text does not have that form.
absl::StatusOr<std::vector<HostSlots>> ParseWorkerList(const std::string& list);

/// The plan of a driver: the rank of each process, and the server with the values that ranks put
/// for each other.
struct RendezvousPlan {
  static constexpr int kLargestPort = 65535;

  int port = 0;  ///< port of the server on the driver's machine
  /// True for tony's own driver, which is reached at 127.0.0.1 only, and by its replicas.
  bool loopback = true;
  std::vector<Slot> slots;
  int round = 0;                     ///< elastic job: counted from 0 in each epoch
  std::vector<std::string> members;  ///< elastic job: MemberName() of each slot

  bool operator==(const RendezvousPlan&) const = default;
};

/// OK when each process has exactly one place. InvalidArgument – a process has no place, a place
/// belongs to no process, or sizes and ranks do not fit together.
absl::Status CheckPlan(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts);

/// OK when each member of an elastic job has exactly one place. InvalidArgument – otherwise.
absl::Status CheckElasticPlan(const RendezvousPlan& plan);

/// The place of `task` in a plan that fits. NotFound – the task is none of the processes.
absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts,
                            const TaskId& task);
/// The place of a member in an elastic job's round. NotFound – it has no place in this round.
absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::string& member);

}  // namespace tony::core
