// Finds the parts of the installation that this program belongs to.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

/// Where the parts of one installation of tony are. Plain data; nothing promises that a part
/// exists.
///
///                     clients      daemons          python             runtime
///     build folder    bin          bin              python             runtime/tony-runtime.tar.gz
///     runtime bundle  (none)       bin              python             (none)
///     installed       bin          libexec/tony     lib/tony/python lib/tony/tony-runtime.tar.gz
///
/// The package for any C library (scripts/package) is installed like the last, but has its clients
/// in libexec/tony too, since their commands in bin only start the loader.
struct Installation {
  std::string daemons;  ///< folder of tony-am, tony-executor and tony-driver
  std::string python;   ///< folder for PYTHONPATH; tony/collective is in it
  std::string runtime;  ///< the archive that is uploaded for the nodes of a cluster

  std::string daemon(const std::string& name) const { return daemons + "/" + name; }
};

/// The installation of the program in the file `program`, an absolute path without symbolic links.
Installation InstallationOf(const std::string& program);

/// The installation of this process's own program. Codes of OwnProgram().
absl::StatusOr<Installation> OwnInstallation();

/// The path of the daemon `name` of OwnInstallation(). Codes of OwnProgram(); NotFound – there is
/// none: only a part of tony was copied or built. The message names the file and the remedy.
absl::StatusOr<std::string> FindDaemon(const std::string& name);

}  // namespace tony::os
