// Groups tasks by machine and visible devices, and validates a driver's plan before any rank
// starts.
#include "core/rendezvous/worker_hosts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "core/model/job_description.h"

namespace tony::core {
namespace {

/// The endpoints in the order of kRankedTypes. Those of one type are in order already.
std::vector<const Endpoint*> RankedEndpoints(const ClusterSpec& spec) {
  std::vector<const Endpoint*> ranked;
  for (const std::string type : kRankedTypes) {
    for (const Endpoint& endpoint : spec.endpoints) {
      if (endpoint.task.type == type) ranked.push_back(&endpoint);
    }
  }
  return ranked;
}

std::string PathName(std::string name) {
  for (char& character : name) {
    if (!IsHostCharacter(character)) character = '-';
  }
  return name.empty() ? "host" : name;
}

absl::Status Misfit(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the driver's plan of ranks does not fit: ", what));
}

absl::Status CheckPort(const RendezvousPlan& plan) {
  if (plan.port >= 1 && plan.port <= RendezvousPlan::kLargestPort) return absl::OkStatus();
  return Misfit(absl::StrCat("its server's port is ", plan.port));
}

/// Host and local rank of each process.
using Slots = std::set<std::pair<std::string, int>>;

// A user's own driver may write any plan; a wrong one would leave ranks waiting for each other.
absl::Status CheckSlot(const Slot& slot, const std::map<std::string, int>& local_sizes,
                       std::set<int>& ranks, Slots& places) {
  const auto local_size = local_sizes.find(slot.host);
  const std::string where =
      absl::StrCat("rank ", slot.rank, " (host ", slot.host, ", local rank ", slot.local_rank, ")");
  if (local_size == local_sizes.end() || slot.local_rank < 0 ||
      slot.local_rank >= local_size->second) {
    return Misfit(absl::StrCat(where, " is at a place that the job does not have"));
  }
  if (!places.insert({slot.host, slot.local_rank}).second) {
    return Misfit(absl::StrCat(where, " is at a place that another rank has"));
  }
  const int size = slot.size;
  if (slot.rank < 0 || slot.rank >= size || !ranks.insert(slot.rank).second) {
    return Misfit(absl::StrCat(where, " is not one of the ranks 0 to ", size - 1, ", each once"));
  }
  if (slot.local_size != local_size->second || slot.cross_rank < 0 ||
      slot.cross_rank >= slot.cross_size) {
    return Misfit(absl::StrCat(where, " has local size ", slot.local_size, ", cross rank ",
                               slot.cross_rank, " and cross size ", slot.cross_size));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsRanked(const std::string& task_type) {
  return std::find(std::begin(kRankedTypes), std::end(kRankedTypes), task_type) !=
         std::end(kRankedTypes);
}

std::string HostNameOf(const Endpoint& endpoint) {
  std::string name = PathName(endpoint.host);
  if (endpoint.devices.empty()) return name;
  return absl::StrCat(name, "-gpu", PathName(absl::StrReplaceAll(endpoint.devices, {{",", "."}})));
}

std::string MemberName(const TaskId& task, int attempt) {
  return absl::StrCat(task.ToString(), "/", attempt);
}

std::string TaskOfMember(const std::string& member) { return member.substr(0, member.rfind('/')); }

std::vector<WorkerHost> WorkerHostsOf(const ClusterSpec& spec) {
  std::vector<WorkerHost> hosts;
  std::map<std::pair<std::string, std::string>, size_t> numbers;  // by machine and devices
  std::set<std::string> names;
  for (const Endpoint* endpoint : RankedEndpoints(spec)) {
    const auto [number, is_new] =
        numbers.try_emplace({endpoint->host_id, endpoint->devices}, hosts.size());
    if (is_new) {
      // Two machines may have the same name; Horovod would count their processes as one host.
      const std::string wanted = HostNameOf(*endpoint);
      std::string name = wanted;
      for (int other = 2; !names.insert(name).second; ++other) {
        name = absl::StrCat(wanted, "-", other);
      }
      hosts.push_back({std::move(name), {}});
    }
    hosts[number->second].tasks.push_back(endpoint->task);
  }
  return hosts;
}

std::vector<std::string> TasksByRank(const std::vector<WorkerHost>& hosts) {
  std::vector<std::string> tasks;
  for (const WorkerHost& host : hosts) {
    for (const TaskId& task : host.tasks) tasks.push_back(task.ToString());
  }
  return tasks;
}

std::string FormatWorkerList(const std::vector<WorkerHost>& hosts) {
  return absl::StrJoin(hosts, ",", [](std::string* out, const WorkerHost& host) {
    absl::StrAppend(out, host.name, ":", host.tasks.size());
  });
}

absl::StatusOr<std::vector<HostSlots>> ParseWorkerList(const std::string& list) {
  std::vector<HostSlots> hosts;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits(':', 1));
    HostSlots host{parts.first, 0};
    if (host.host.empty() || !absl::SimpleAtoi(parts.second, &host.slots) || host.slots < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", list, "' is no list of hosts; it is to be as host:2,other:1"));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

absl::Status CheckPlan(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts) {
  TONY_RETURN_IF_ERROR(CheckPort(plan));
  std::map<std::string, int> local_sizes;
  size_t processes = 0;
  for (const WorkerHost& host : hosts) {
    local_sizes[host.name] = static_cast<int>(host.tasks.size());
    processes += host.tasks.size();
  }
  if (plan.slots.size() != processes) {
    return Misfit(absl::StrCat("the job has ", processes, " processes, and it has places for ",
                               plan.slots.size()));
  }
  std::set<int> ranks;
  Slots places;
  for (const Slot& slot : plan.slots) {
    if (slot.size != static_cast<int>(processes)) {
      return Misfit(absl::StrCat("rank ", slot.rank, " has size ", slot.size, ", of ", processes,
                                 " processes"));
    }
    TONY_RETURN_IF_ERROR(CheckSlot(slot, local_sizes, ranks, places));
  }
  return absl::OkStatus();
}

absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::vector<WorkerHost>& hosts,
                            const TaskId& task) {
  for (const WorkerHost& host : hosts) {
    const auto found = std::find(host.tasks.begin(), host.tasks.end(), task);
    if (found == host.tasks.end()) continue;
    const int local_rank = static_cast<int>(found - host.tasks.begin());
    for (const Slot& slot : plan.slots) {
      if (slot.host == host.name && slot.local_rank == local_rank) return slot;
    }
  }
  return absl::NotFoundError(absl::StrCat("the plan of ranks has no place for ", task.ToString()));
}

absl::StatusOr<Slot> SlotOf(const RendezvousPlan& plan, const std::string& member) {
  const auto found = std::find(plan.members.begin(), plan.members.end(), member);
  if (found == plan.members.end()) {
    return absl::NotFoundError(
        absl::StrCat("round ", plan.round, " of the plan has no place for ", member));
  }
  return plan.slots[static_cast<size_t>(found - plan.members.begin())];
}

absl::Status CheckElasticPlan(const RendezvousPlan& plan) {
  TONY_RETURN_IF_ERROR(CheckPort(plan));
  const std::set<std::string> members(plan.members.begin(), plan.members.end());
  if (plan.members.empty() || plan.members.size() != plan.slots.size() ||
      members.size() != plan.members.size()) {
    return Misfit(
        absl::StrCat("it has ", plan.slots.size(), " places for ", members.size(), " processes"));
  }
  return absl::OkStatus();
}

}  // namespace tony::core
