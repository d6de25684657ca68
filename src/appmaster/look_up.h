// Finds the ApplicationMaster of a job on YARN, for the job's executors.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "appmaster/options.h"

namespace tony::appmaster {

/// The address, "host:port". NotFound – the job is over. Otherwise the codes of
/// storage::JobFiles::Read and of backend::ReadYarnJob.
absl::StatusOr<std::string> FindMaster(const Options::Yarn& yarn);

}  // namespace tony::appmaster
