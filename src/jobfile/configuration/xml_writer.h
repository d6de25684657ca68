// Writes a merged configuration as one XML file, the job's `tony-final.xml`.
#pragma once

#include <string>

#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// The XML of all keys that were set, but for those of a site file that no job may set, each with
/// its value and, as `<source>`, its origin. Read as a job file in any folder, the text gives the
/// same keys and values: paths in it are absolute.
std::string WriteXml(const Configuration& configuration);

}  // namespace tony::jobfile
