// How ranks meet that do not all share one memory.
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

/// 1. Each rank opens a door, and the first one of each host that has several makes their memory.
/// 2. Rank 0 tells all of all.
/// 3. All connect to each other, and each host's ranks share its memory. Where one host has none,
/// all speak TCP.
/// All of it belongs to the plan's run, and there is a secret, or one rank only. The errors are
/// Meet's.
Result<std::unique_ptr<LinkMembers>> MeetByNet(SignedStore& store, const Meeting& meeting,
                                               const MeetingPlan& plan, Deadline deadline);

/// What it means that a rank has not put something: who is missing.
Status OfRank(const Status& got, int rank);
/// What it means that rank 0 has not put what it tells all when it has heard of each: who has not
/// put his, of which `key` is the name without his number. Rank 0 waits no longer than this one,
/// and would have told it too late.
Status OfAll(const Status& got, SignedStore& store, const Meeting& meeting, const std::string& key);

}  // namespace tony::collective
