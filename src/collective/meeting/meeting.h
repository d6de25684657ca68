// The rendezvous of all ranks of a job, through a key-value store.
#pragma once

#include <memory>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/group/members.h"
#include "collective/meeting/meeting_parameters.h"
#include "collective/meeting/store.h"

namespace tony::collective {

/// Waits until all ranks have come, and connects them. The ranks tell each other what they need to
/// know through `store`. Others may write there, so values are signed with the secret
/// (signed_store.h).
///
/// Ranks of one host use shared memory, several hosts use TCP between them, and if memory cannot be
/// shared, all ranks use TCP alone. Members::transport() tells which.
/// InvalidArgument: the rank is out of range, the secret is too long, the host's name is not one
/// line, or the address is none; on rank 0 also: switch points are out of range, or the file of
/// switch points is not valid.
/// FailedPrecondition: the ranks cannot all share memory and there is no secret; a value in the
/// store is not from the rank that should have written it; a rank has given up, or refuses this
/// one. DeadlineExceeded: names the ranks that are missing. Aborted: a rank has ended meanwhile, or
/// the store has values of another start. ResourceExhausted: no descriptors.
Result<std::unique_ptr<Members>> Meet(Store& store, const Meeting& meeting, Deadline deadline);

}  // namespace tony::collective
