// Writes a merged configuration as one XML file, the job's `tony-final.xml`.
#pragma once

#include <string>

#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// Every key that was set, with its value and, as `<source>`, its origin. Reading the text back as
/// a job file gives a configuration with the same keys and values, whatever folder it then lies in.
std::string WriteXml(const Configuration& configuration);

}  // namespace tony::jobfile
