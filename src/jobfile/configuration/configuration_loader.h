// Reads and merges the layers of a configuration: built-in < machine's final values < site file <
// job file < command line.
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
  std::string option = "--conf";  ///< the option, for messages
};

/// The sources of a configuration. File names are relative to `working_folder`.
struct Sources {
  /// The machine's own site file if another one replaces it: only its final values count, so that
  /// nobody escapes them by naming another file. Empty: none; a missing file is no error.
  std::string machine_file;
  std::string site_file;  ///< empty: none; a missing file is no error
  std::string job_file;   ///< empty: none; a missing file is a problem
  std::vector<Override> overrides;
  std::string working_folder;  ///< absolute; paths in `overrides` are relative to it
  std::string home_folder;     ///< the meaning of `~`; may be empty
};

/// The merged configuration, and the problems and notes of its files.
struct LoadResult {
  Configuration configuration;
  std::vector<Problem> problems;
  std::vector<Problem> notes;
  bool readable = true;  ///< false: a file could not be read as XML at all, so its keys are missing
                         ///< in `configuration`
};

/// Reads the sources and merges their layers. Paths become absolute; a relative path is relative to
/// the folder of the file that names it. Keys and values are not checked here: BuildJob() does
/// that.
LoadResult LoadConfiguration(const Sources& sources);

}  // namespace tony::jobfile
