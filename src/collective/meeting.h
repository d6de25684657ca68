// How the ranks of a job find each other.
#pragma once

#include <memory>
#include <string>

#include "collective/deadline.h"
#include "collective/members.h"
#include "collective/status.h"
#include "collective/store.h"

namespace tony::collective {

struct Meeting {
  int rank = 0;
  int ranks = 1;
  /// Which all ranks of the job know and nobody else: HostDoor::kSecretBytes at most.
  std::string secret;
};

/// Until all ranks are there. Each tells of the others what it needs to know through `store`.
/// InvalidArgument: a rank out of range, a secret too long. FailedPrecondition: ranks are on
/// several hosts. DeadlineExceeded: names who is missing. ResourceExhausted: no shared memory.
Result<std::unique_ptr<Members>> Meet(Store& store, const Meeting& meeting, Deadline deadline);

}  // namespace tony::collective
