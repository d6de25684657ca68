// Ships Python virtual environments, whose interpreter is a link to the machine's own Python.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/archives/archive_checker.h"
#include "os/archives/archive_reader.h"
#include "os/archives/archive_writer.h"

namespace tony::os {

/// Whether a symbolic link is a virtual environment's interpreter: it is called "bin/python…", at
/// any depth, and its target is an absolute path whose last part begins with "python". Only such
/// links may leave a virtual environment.
bool IsInterpreterLink(const std::string& path, const std::string& target);

/// Makes `archive_path` (new, mode 0600) of a virtual environment given as a folder, which is
/// packed whole, or as a zip or tar archive, which is checked and copied as it is. Interpreter
/// links are kept as the record of what the environment was made with; UnpackVirtualEnvironment
/// makes them again. `archive_folder`: as PackOptions has it. Codes as PackFolder and CheckArchive.
absl::StatusOr<PackSummary> PackVirtualEnvironment(const std::string& source,
                                                   const std::string& archive_path,
                                                   int archive_folder = -1);

/// An environment that is ready to be used on this machine.
struct VirtualEnvironment {
  UnpackSummary unpacked;
  /// Interpreter links as made here: path below the destination to interpreter.
  std::map<std::string, std::string> interpreters;
};

/// Unpacks with all checks of UnpackArchive, then makes each interpreter link again: to its
/// recorded target if that is here and of the environment's Python version (pyvenv.cfg's, else the
/// one in the target's name), else to the first `pythonX.Y` of that version in
/// `interpreter_folders` (absolute paths, e.g. those of PATH). NotFound – no such interpreter on
/// this machine; otherwise codes as UnpackArchive.
absl::StatusOr<VirtualEnvironment> UnpackVirtualEnvironment(
    const std::string& archive, const std::string& destination,
    const std::vector<std::string>& interpreter_folders, const UnpackLimits& limits = {});

}  // namespace tony::os
