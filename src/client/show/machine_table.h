// Shows what the jobs of a machine hold and wait for.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/capacity.h"
#include "core/schedule/claim.h"

namespace tony::client {

/// A line about the machine and a line for each claim, cut to `width` columns. `own_user`: the name
/// of the user whose claims have no name.
std::string RenderMachine(const core::Capacity& capacity, const std::vector<core::Claim>& claims,
                          const std::string& own_user, int width);

}  // namespace tony::client
