// The environment variables of programs that use tony.collective.
#pragma once

#include <string>

#include "core/model/job_description.h"
#include "core/runtime/runtime.h"

namespace tony::core {

/// The secret that only the ranks of a job know.
inline constexpr char kCollectiveKeyVariable[] = "TONY_COLLECTIVE_KEY";

/// Sets the variable to `key`, unless the job itself sets it for its containers. The variables of
/// programs are added later and override both.
void SetCollectiveKey(const JobDescription& job, const std::string& key, Environment& environment);

/// Appends a folder, whose path has no ':', to PYTHONPATH, so that the user's own folders come
/// first.
void AppendToPythonPath(const std::string& folder, Environment& environment);

/// Puts a folder, whose path has no ':', before all others of PYTHONPATH.
void PrependToPythonPath(const std::string& folder, Environment& environment);

}  // namespace tony::core
