// Which process of a Horovod job has which rank, and where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::core {

/// What the name of a Horovod host may have, since it stands in the path of URLs: letters, digits,
/// '.', '_' and '-'.
bool IsHostCharacter(char character);

/// A host as Horovod counts them: processes whose local ranks count together. A container with
/// devices of its own is a host of its own.
struct HostSlots {
  std::string host;  ///< of IsHostCharacter()
  int slots = 1;     ///< processes that may run there

  bool operator==(const HostSlots&) const = default;
};

/// A process's place. Those with one local rank, in the order of the hosts, are each other's cross
/// ranks.
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

/// Gives ranks to exactly `processes` processes, by rank, unlike Horovod 0.28, which starts one for
/// each slot that there is.
///
/// 1. Each host, in the order given, has its slots taken until all processes have one.
/// 2. Ranks count through; local ranks begin anew on each host.
/// 3. The cross size of a local rank is the number of hosts that have it.
///
/// InvalidArgument – no process; a host without a slot, named twice, or with a name that does not
/// fit into the path of a URL. ResourceExhausted – fewer slots than processes.
absl::StatusOr<std::vector<Slot>> PlanSlots(const std::vector<HostSlots>& hosts, int processes);

/// How many processes an elastic job may have.
struct ElasticSize {
  int least = 1;
  int most = 1;
};

/// A place in the next round of an elastic job.
struct ElasticSlot {
  Slot slot;
  std::optional<int> previous_rank;  ///< of the process that lives on; nothing: a new process

  bool operator==(const ElasticSlot&) const = default;
};

/// The next round of an elastic job whose last round had the slots `survivors`, in any order, and
/// more that are gone. By rank.
///
/// 1. Hosts with survivors come first, in their old order; then the others, in the order given.
/// 2. Survivors have their places before any new process has one. On a host they come first, in
///    their old order, so that rank 0, which tells the others the state, is a survivor.
/// 3. What is free is filled in the order of the hosts, up to the most that the job may have.
///    Survivors beyond `size.most`, or beyond the slots that their host still has, get no place.
///
/// InvalidArgument – as PlanSlots, or `size` is no range. FailedPrecondition – nobody survived.
/// ResourceExhausted – fewer places than the job needs.
absl::StatusOr<std::vector<ElasticSlot>> PlanNextRound(const std::vector<HostSlots>& hosts,
                                                       const std::vector<Slot>& survivors,
                                                       ElasticSize size);

}  // namespace tony::core
