// Builds a validated job from a merged configuration, or the list of all its problems.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/configuration/configuration_loader.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Checks every key and value, then the job as a whole. Pure, except for the check that named files
/// exist.
BuildResult BuildJob(const Configuration& configuration, FileChecks file_checks = FileChecks::kOn);

/// The local backend's settings of this machine, for programs that have no job. A wrong value
/// counts as the default.
LocalSettings BuildLocalSettings(const Configuration& configuration);

/// A configuration and the job built from it.
struct LoadedJob {
  Configuration configuration;
  BuildResult result;  ///< problems and notes of loading come first
};

/// Runs LoadConfiguration() and BuildJob() and returns the problems of both. If a file cannot be
/// read at all, only the problems of loading are returned. A job without a name gets one
/// (job/job_name.h).
LoadedJob LoadJob(const Sources& sources, FileChecks file_checks = FileChecks::kOn);

}  // namespace tony::jobfile
