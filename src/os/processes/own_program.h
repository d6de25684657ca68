// Finds the file of this program, and starts other programs that lie beside it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/processes/subprocess.h"

namespace tony::os {

/// The file that this program's code comes from, absolute. It is not /proc/self/exe: in a runtime
/// bundle (docs/design/runtime-bundle.md) the bundle's dynamic loader starts the programs, and
/// /proc/self/exe names the loader. Codes of ReadFile(). Internal – /proc/self/maps does not name
/// the file.
absl::StatusOr<std::string> OwnProgram();

/// The path of `name` in the folder of OwnProgram(). Does not check that it exists. Codes of
/// OwnProgram().
absl::StatusOr<std::string> ProgramBeside(const std::string& name);

/// The command that starts `program` by the dynamic loader `loader`, with the libraries in the
/// loader's folder and no others. The programs that `program` starts in turn inherit none of this.
/// Arguments may follow. `loader` must be absolute, since libraries are also opened later, and its
/// folder's path must have no ':' or ';'.
std::vector<std::string> LoaderCommand(const std::string& loader, const std::string& program);

/// The command that starts `program`, a path of this build. If a loader has started this process,
/// the command starts `program` by that loader too, since the machine's own C library may be too
/// old for both. Arguments may follow. Codes of OwnProgram().
absl::StatusOr<std::vector<std::string>> OwnProgramCommand(const std::string& program);

/// Like Subprocess::Start(), for a program of this build with the path `request.arguments[0]`, by
/// OwnProgramCommand(). With a loader, a program that cannot be executed is noticed only by the
/// loader in the new process, which exits with code 127. Codes of Subprocess::Start() and
/// OwnProgram().
absl::StatusOr<Subprocess> StartOwnProgram(SubprocessRequest request);

}  // namespace tony::os
