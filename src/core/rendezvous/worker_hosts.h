// Which tasks of a job are Horovod's processes, on which of Horovod's hosts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/cluster_spec.h"
#include "core/model/task_id.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// Whether the tasks of this type are Horovod's processes (kRankedTypes).
bool IsRanked(const std::string& task_type);

/// Processes whose local ranks count together: those on one machine that see the same devices.
struct WorkerHost {
  std::string name;           ///< HostNameOf()
  std::vector<TaskId> tasks;  ///< by local rank

  bool operator==(const WorkerHost&) const = default;
};

/// The name of Horovod's host that an endpoint belongs to: its machine's, with the devices that it
/// sees. Characters that Horovod's paths cannot have become '-'.
std::string HostNameOf(const Endpoint& endpoint);

/// One start of a task's process, as a member of an elastic job: "worker:3/2".
std::string MemberName(const TaskId& task, int attempt);
/// The task whose start it is: "worker:3".
std::string TaskOfMember(const std::string& member);

/// The hosts in the order in which they are first needed: chief, then workers by index. Where each
/// process has its own devices, each is alone on its host, so that its local rank, 0, is the index
/// of a device that it sees. Machines with one name are told apart by a number.
std::vector<WorkerHost> WorkerHostsOf(const ClusterSpec& spec);

/// The tasks' names, as PlanSlots() gives ranks to these hosts.
std::vector<std::string> TasksByRank(const std::vector<WorkerHost>& hosts);

/// "host:2,other:1"
std::string FormatWorkerList(const std::vector<WorkerHost>& hosts);
/// Inverse of FormatWorkerList. InvalidArgument – it is not of that form.
absl::StatusOr<std::vector<HostSlots>> ParseWorkerList(const std::string& list);

/// What a driver says: who has which rank, and where the values are that ranks put for each other.
struct RendezvousPlan {
  static constexpr int kLargestPort = 65535;

  int port = 0;  ///< of the server, on the driver's machine
  /// The driver is tony's: it is reached at 127.0.0.1 only, and by its replicas.
  bool loopback = true;
  std::vector<Slot> slots;
  int round = 0;                     ///< of an elastic job; each begins anew with 0
  std::vector<std::string> members;  ///< of an elastic job: whose the slots are, MemberName()

  bool operator==(const RendezvousPlan&) const = default;
};

/// Whether each process has a place. InvalidArgument – one of them has none, there are others, or
/// what is said of sizes and ranks does not fit together.
absl::Status CheckPlan(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts);

/// Whether each member of an elastic job has one place, and one only. InvalidArgument – not so.
absl::Status CheckElasticPlan(const RendezvousPlan& plan);

/// The place of `task` in a plan that fits. NotFound – it is none of the processes.
absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts,
                            const TaskId& task);
/// The same in an elastic job, of a start of a task. NotFound – it has no place in this round.
absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::string& member);

}  // namespace tony::core
