// Where the ApplicationMaster of a job on YARN is, for its executors.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "appmaster/options.h"

namespace tony::appmaster {

/// "host:port". NotFound – the job is over; otherwise the codes of backend::JobFiles::Read and of
/// backend::ReadYarnJob.
absl::StatusOr<std::string> LookUpMaster(const Options::Yarn& yarn);

}  // namespace tony::appmaster
