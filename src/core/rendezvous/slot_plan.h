// The assignment of ranks and hosts to the processes of a Horovod job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::core {

/// True for a character that a Horovod host's name may have: letters, digits, '.', '_' and '-'. The
/// name is part of URL paths.
bool IsHostCharacter(char character);

/// A host in Horovod's sense: processes that share a sequence of local ranks. A container with its
/// own devices is a host of its own.
struct HostSlots {
  std::string host;  ///< consists of IsHostCharacter() characters
  int slots = 1;     ///< number of processes that may run there

  bool operator==(const HostSlots&) const = default;
};

/// The place of one process. Processes with the same local rank are numbered by their cross rank,
/// in the order of the hosts.
struct Slot {
  std::string host;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int cross_rank = 0;
  int cross_size = 1;

  bool operator==(const Slot&) const = default;
};

/// Gives ranks to exactly `processes` processes; the result is ordered by rank. Horovod 0.28 starts
/// a process for every slot instead.
///
/// 1. Hosts are filled in the given order until all processes have a slot.
/// 2. Ranks are consecutive over all hosts; local ranks start at 0 on each host.
/// 3. The cross size of a local rank is the number of hosts that have that local rank.
///
/// InvalidArgument – no process is wanted, or a host has no slot, is named twice, or has a name
/// that does not fit into a URL path. ResourceExhausted – there are fewer slots than processes.
absl::StatusOr<std::vector<Slot>> PlanSlots(const std::vector<HostSlots>& hosts, int processes);

/// The number of processes that an elastic job may have.
struct ElasticSize {
  int least = 1;
  int most = 1;
};

/// A place in the next round of an elastic job.
struct ElasticSlot {
  Slot slot;
  std::optional<int> previous_rank;  ///< of a surviving process; nullopt: a new process

  bool operator==(const ElasticSlot&) const = default;
};

/// Plans the next round of an elastic job. `survivors`: the slots of the last round whose processes
/// live, in any order. The result is ordered by rank.
///
/// 1. Hosts with survivors come first, in their old order; then the others, in the given order.
/// 2. Survivors get places before new processes do. On each host they come first, in their old
///    order, so that rank 0, which sends the state to the others, is a survivor.
/// 3. Free slots are filled in the order of the hosts, up to `size.most` processes. Survivors
///    beyond `size.most`, or beyond the slots that their host still has, get no place.
///
/// InvalidArgument – as PlanSlots, or `size` is no range. FailedPrecondition – no process survived.
/// ResourceExhausted – fewer places than `size.least`.
absl::StatusOr<std::vector<ElasticSlot>> PlanNextRound(const std::vector<HostSlots>& hosts,
                                                       const std::vector<Slot>& survivors,
                                                       ElasticSize size);

}  // namespace tony::core
