// Finds the Python package tony.collective, for the task's program.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::executor {

/// Returns the folder that contains tony/collective, for PYTHONPATH: the folder `python` beside the
/// folder of `program`. `program` belongs to this build; the layout is the same in a build folder
/// and in a runtime bundle.
/// NotFound – there is no package with its library. FailedPrecondition – the path has a ':', which
/// PYTHONPATH cannot hold. The messages are for the executor's log: the program may not need the
/// package.
absl::StatusOr<std::string> FindCollectivePackage(const std::string& program);

}  // namespace tony::executor
