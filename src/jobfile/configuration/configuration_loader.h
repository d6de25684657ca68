// Reads and merges the layers of a configuration: built-in < site file < job file < command line.
#pragma once

#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"
#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// One `key=value` of the command line.
struct Override {
  std::string key;
  std::string value;
  std::string option = "--conf";  ///< what messages cite
};

/// Where a configuration comes from. Relative file names belong to `working_folder`.
struct Sources {
  std::string site_file;  ///< empty, or not there: none
  std::string job_file;   ///< empty: none; must be there otherwise
  std::vector<Override> overrides;
  std::string working_folder;  ///< absolute; relative paths in `overrides` belong to it
  std::string home_folder;     ///< what `~` stands for; may be empty
};

struct LoadResult {
  Configuration configuration;
  std::vector<Problem> problems;
  std::vector<Problem> notes;
  bool readable = true;  ///< false: a file could not be read as XML at all, so that `configuration`
                         ///< lacks its keys
};

/// Merges the layers. Values of the types that hold paths become absolute: a relative path belongs
/// to the folder of the file that names it. Whether the keys exist and the values make sense is
/// BuildJob()'s question.
LoadResult LoadConfiguration(const Sources& sources);

}  // namespace tony::jobfile
