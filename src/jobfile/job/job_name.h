// The name of a job whose file does not give it one.
#pragma once

#include <string>

#include "jobfile/configuration/configuration.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::jobfile {

/// A name and where it comes from, for people. Plain data.
struct DerivedName {
  std::string name;    ///< not empty
  std::string origin;  ///< "the job file's folder"
};

/// With a job file: its folder's name, or the file's own name if that is neither job.xml nor
/// tony.xml. Otherwise the name of the script that the command runs, or of its program. Reads no
/// file.
DerivedName DeriveJobName(const Configuration& configuration, const Sources& sources);

}  // namespace tony::jobfile
