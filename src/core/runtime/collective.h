// What programs that use tony.collective find in their environment.
#pragma once

#include <string>

#include "core/model/job_description.h"
#include "core/runtime/runtime.h"

namespace tony::core {

/// What the ranks of a job know and nobody else.
inline constexpr char kCollectiveKeyVariable[] = "TONY_COLLECTIVE_KEY";

/// Sets it to `key`, unless the job itself sets it for its containers. The variables of programs,
/// which come on top, win anyway.
void SetCollectiveKey(const JobDescription& job, const std::string& key, Environment& environment);

/// Puts a folder, whose path has no ':', at the end of PYTHONPATH: what the user's own folders have
/// comes first.
void AppendToPythonPath(const std::string& folder, Environment& environment);

}  // namespace tony::core
