// Finds the jobs that a verb's arguments name, and what they mean for the exit status.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/verbs/verbs.h"

namespace tony::client {

/// Jobs of one backend, in the order in which they were named, each once.
struct NamedJobs {
  std::unique_ptr<JobCatalog> catalog;
  std::vector<StoredJob> jobs;
};

/// Finds each of `wishes`, of which there is at least one. The codes of OpenJobs() and
/// JobCatalog::Find(); InvalidArgument – the jobs are on different backends.
absl::StatusOr<NamedJobs> FindNamedJobs(const CommandLine& line, const VerbContext& context,
                                        const std::vector<std::string>& wishes);

/// `status`, with NotFound as InvalidArgument: for verbs whose exit status 1 means that a job's
/// program failed, so that a mistyped name must not look like one.
absl::Status AsBadUsage(const absl::Status& status);

/// The exit status of tony-submit for a job that is over: that of its verdict, or that of
/// infrastructure if it has none.
int ExitStatusOf(const StoredJob& job);

/// One line about a job that is over: "JOB  SUCCEEDED: All 2 tracked tasks succeeded\n".
std::string EndLine(const StoredJob& job);

/// Prints jobs as JSON: an object for one name on the command line, an array for several.
void PrintJobsJson(const std::vector<StoredJob>& jobs, size_t names, const VerbContext& context);

}  // namespace tony::client
