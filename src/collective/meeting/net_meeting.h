// The rendezvous of ranks that do not all share one memory.
#pragma once

#include <memory>
#include <string>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/group/link_members.h"
#include "collective/meeting/meeting_parameters.h"
#include "collective/meeting/meeting_plan.h"
#include "collective/meeting/signed_store.h"

namespace tony::collective {

/// 1. Each rank opens a TCP acceptor. The first rank of each host with several ranks also makes the
/// host's memory and a HostAcceptor. Each rank publishes the addresses.
/// 2. Rank 0 collects all addresses and publishes them as one table.
/// 3. All ranks connect to each other, and each host's ranks share its memory. If any host has no
/// memory, all ranks use TCP alone.
/// All values in the store belong to the plan's run. The caller makes sure that there is a secret,
/// or one rank only. The errors are those of Meet().
Result<std::unique_ptr<LinkMembers>> MeetByNet(SignedStore& store, const Meeting& meeting,
                                               const MeetingPlan& plan, Deadline deadline);

/// The error of a wait for a value of `rank`: DeadlineExceeded becomes "rank … has not come".
Status OfRank(const Status& got, int rank);
/// The error of a wait for the value that rank 0 publishes once it has heard from all ranks. After
/// DeadlineExceeded it looks which rank has not published its own value, under `key` and its
/// number, and names that one. Rank 0's own refusal does not help here: rank 0 may wait as long as
/// this rank, and would publish it too late.
Status OfAll(const Status& got, SignedStore& store, const Meeting& meeting, const std::string& key);

}  // namespace tony::collective
