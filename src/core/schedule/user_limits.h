// Limits of what one user's jobs may hold together on a machine that several users share.
#pragma once

#include <optional>
#include <vector>

#include "core/schedule/claim.h"

namespace tony::core {

/// The refusal of a job that alone exceeds its user's limits, in what it holds and wants; nullopt:
/// it does not.
std::optional<NeverFits> CheckUserLimits(const Claim& own);

/// The wait of a job that would exceed its user's limits together with the user's other jobs;
/// nullopt: it would not. `others`: the claims of all other jobs.
std::optional<MustWait> AwaitUsersShare(const Claim& own, const std::vector<Claim>& others);

/// The claims as far as they count. Another user's program can write any claim; what goes beyond
/// the user's limits, in the order of `claims`, counts neither as held nor as wanted. Claims of
/// this user count whole.
std::vector<Claim> WithinLimits(const std::vector<Claim>& claims);

}  // namespace tony::core
