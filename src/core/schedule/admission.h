// Admission to one machine's containers: first in, first out, but for jobs that delay nobody, and
// all or nothing.
#pragma once

#include <optional>
#include <vector>

#include "core/ports/cluster_backend.h"
#include "core/schedule/capacity.h"
#include "core/schedule/claim.h"

namespace tony::core {

/// nullopt when `requests` together could run on an otherwise empty machine.
std::optional<NeverFits> CheckFits(const Capacity& capacity,
                                   const std::vector<ContainerRequest>& requests);

/// Decides about the containers that `own` wants. `others`: the claims of all other jobs. Memory
/// and GPUs are hard limits, and GPUs are exclusive; vcores are hard only if the capacity says so.
///
/// 1. Held and wanted resources together must fit into the machine's total and into the limits of
///    the job's user; otherwise the job never fits.
/// 2. A job waits while another one with a smaller ticket wants something: a large job must not
///    starve behind small ones. It may pass (backfill) if it cannot delay any job ahead: of each
///    resource that it wants, so much is free that all jobs ahead could have theirs, too. Then a
///    job ahead waits for another resource, of which this one takes nothing. How long jobs will
///    run is not known, so no other job may pass. A job of another user that wants
///    more than the machine has is not waited for, since it never starts.
/// 3. A job waits while the wanted sum of any hard resource exceeds the free amount, or the limit
/// of
///    its user less what the user's other jobs hold. Claims of other users count up to their
///    limits.
/// 4. Otherwise each container gets the lowest free GPU indices, in the order of the requests.
Admission Admit(const Capacity& capacity, const Claim& own, const std::vector<Claim>& others);

}  // namespace tony::core
