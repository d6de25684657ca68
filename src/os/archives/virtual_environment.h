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

/// Whether a symbolic link is a virtual environment's interpreter: its path ends in "bin/python…",
/// at any depth, and its target is an absolute path whose last part begins with "python". Only such
/// links may leave a virtual environment.
bool IsInterpreterLink(const std::string& path, const std::string& target);

/// Makes `archive_path` (new, mode 0600) from a virtual environment. `source` is a folder, which is
/// packed completely, or a zip or tar archive, which is checked and copied as it is. Interpreter
/// links are kept as the record of the interpreter that the environment was made with;
/// UnpackVirtualEnvironment() makes them again. `archive_folder`: as in PackOptions. Codes as for
/// PackFolder() and CheckArchive().
absl::StatusOr<PackSummary> PackVirtualEnvironment(const std::string& source,
                                                   const std::string& archive_path,
                                                   int archive_folder = -1);

/// An environment that is ready for use on this machine.
struct VirtualEnvironment {
  UnpackSummary unpacked;
  /// The interpreter links as made here: path below the destination to interpreter.
  std::map<std::string, std::string> interpreters;
};

/// Unpacks with all checks of UnpackArchive(), then makes each interpreter link again. Its new
/// target is the recorded target if that exists here and has the environment's Python version (from
/// pyvenv.cfg, else from the target's name); otherwise the first `pythonX.Y` of that version in
/// `interpreter_folders` (absolute paths, such as those of PATH). NotFound – no such interpreter on
/// this machine. Otherwise codes as for UnpackArchive().
absl::StatusOr<VirtualEnvironment> UnpackVirtualEnvironment(
    const std::string& archive, const std::string& destination,
    const std::vector<std::string>& interpreter_folders, const UnpackLimits& limits = {});

}  // namespace tony::os
