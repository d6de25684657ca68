// The job's configuration as the page may show it.
#pragma once

#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"
#include "web/api/job_source.h"

namespace tony::pagedata {

/// The keys that are set, in the order of the configuration. The page's visitors may be others than
/// the job's user, so secrets are replaced by "[redacted]": the values of environment variables
/// whose names speak of a secret, and whatever logs::SecretScanner knows. Thread safe.
std::vector<web::ConfigKey> ConfigKeys(const jobfile::Configuration& configuration);

/// The configuration as a job file, with secrets replaced in the same way. `keys`: those of
/// ConfigKeys(configuration). Thread safe.
std::string XmlWithoutSecrets(const jobfile::Configuration& configuration,
                              const std::vector<web::ConfigKey>& keys);

}  // namespace tony::pagedata
