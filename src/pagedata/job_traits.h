// What lists of jobs say of a job beside its events.
#pragma once

#include <cstdint>
#include <vector>

#include "core/metrics/job_metrics.h"
#include "core/record/observed_job.h"
#include "history/job_entry.h"
#include "jobfile/configuration/configuration.h"
#include "web/api/job_source.h"

namespace tony::pagedata {

/// `keys`: those of ConfigKeys(configuration). The digest is made of these, so it tells nothing
/// about a secret. Thread safe.
history::JobTraits TraitsOf(const jobfile::Configuration& configuration,
                            const std::vector<web::ConfigKey>& keys);

/// How many pieces of advice there are for the job, from "moderate" on. Thread safe.
int CountAdvice(const core::ObservedJob& job, const core::JobMetrics& metrics, int64_t now_millis);

}  // namespace tony::pagedata
