// Converts placement constraints to the form that SchedulingRequests use.
#pragma once

#include <string>

#include "hadoop/yarn/scheduling.pb.h"
#include "jobfile/values/placement.h"

namespace tony::backend {

/// YARN's message for `constraint`.
::hadoop::yarn::PlacementConstraintProto ConstraintOf(
    const jobfile::PlacementConstraint& constraint);

/// Restricts `constraint` to nodes with the label `label`. `constraint` may be empty, but must not
/// be composite: YARN's scheduler ignores a label there, so spec refuses that.
void AddLabel(const std::string& label, ::hadoop::yarn::PlacementConstraintProto* constraint);

}  // namespace tony::backend
