// Turns a merged configuration into a validated job, or into the list of everything that is wrong
// with it.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/configuration/configuration_loader.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Checks every key and value, then the job as a whole. Pure but for the look at the named files.
BuildResult BuildJob(const Configuration& configuration, FileChecks file_checks = FileChecks::kOn);

/// A configuration and what was made of it.
struct LoadedJob {
  Configuration configuration;
  BuildResult result;  ///< with the problems and notes of loading first
};

/// LoadConfiguration() and BuildJob(), so that one run shows the problems of both. When a file is
/// not readable at all only that is reported.
LoadedJob LoadJob(const Sources& sources, FileChecks file_checks = FileChecks::kOn);

}  // namespace tony::jobfile
