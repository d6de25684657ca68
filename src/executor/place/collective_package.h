// Where the Python package tony.collective lies, for the task's program.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::executor {

/// The folder that has tony/collective, for PYTHONPATH: `python` beside the folder of `program`,
/// which is a program of this build's, in a build folder as in a runtime bundle.
/// NotFound – there is no package with its library; FailedPrecondition – the path has a ':', which
/// PYTHONPATH cannot hold. The sentences are for the executor's log: the program may do without.
absl::StatusOr<std::string> FindCollectivePackage(const std::string& program);

}  // namespace tony::executor
