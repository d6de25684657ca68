// Chooses the Ranks of a job by its framework.
#pragma once

#include <memory>

#include "core/job/ranks.h"

namespace tony::core {

/// HorovodRanks, ElasticRanks, or the base for other frameworks. Both arguments must outlive the
/// result, which keeps references to them.
std::unique_ptr<Ranks> MakeRanks(JobRun& run, const JobParts& parts);

}  // namespace tony::core
