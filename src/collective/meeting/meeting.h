// How the ranks of a job find each other.
#pragma once

#include <memory>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/group/members.h"
#include "collective/meeting/meeting_parameters.h"
#include "collective/meeting/store.h"

namespace tony::collective {

/// Until all ranks are there. Each tells the others what they need to know through `store`, signed
/// with the secret (signed_store.h), since others may write there.
///
/// On one host through shared memory, on several through TCP between them, and where memory cannot
/// be shared through TCP alone: Members::transport() says which.
/// InvalidArgument: a rank out of range, a secret too long, an address that is none; of rank 0:
/// switch points out of range, or a file that is none of them.
/// FailedPrecondition: ranks cannot all share memory and there is no secret; a value in the store
/// is not of the rank whose it should be; a rank has given up, or refuses us. DeadlineExceeded:
/// names who is missing. Aborted: a rank has ended meanwhile, or the store has values of another
/// start.
/// ResourceExhausted: no descriptors.
Result<std::unique_ptr<Members>> Meet(Store& store, const Meeting& meeting, Deadline deadline);

}  // namespace tony::collective
