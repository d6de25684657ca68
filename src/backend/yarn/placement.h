// Where containers may be, as SchedulingRequests say it.
#pragma once

#include <string>

#include "hadoop/yarn/scheduling.pb.h"
#include "jobfile/values/placement.h"

namespace tony::backend {

/// In YARN's words.
::hadoop::yarn::PlacementConstraintProto ConstraintOf(
    const jobfile::PlacementConstraint& constraint);

/// Holds only on nodes of `label` from now on. `constraint` has no parts, of which YARN's scheduler
/// would pass the label over (spec refuses that); it may be empty.
void AddLabel(const std::string& label, ::hadoop::yarn::PlacementConstraintProto* constraint);

}  // namespace tony::backend
