// Where this program lies, and the start of another one that lies beside it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/processes/subprocess.h"

namespace tony::os {

/// The file that this program's code comes from, absolute. Not /proc/self/exe: in a runtime bundle
/// (docs/design/runtime-bundle.md) programs are started by the bundle's dynamic loader, and that is
/// what it names then. Codes of ReadFile(); Internal – /proc/self/maps does not name it.
absl::StatusOr<std::string> OwnProgram();

/// The path of `name` in the folder of OwnProgram(); whether it is there is not looked at.
/// Codes of OwnProgram().
absl::StatusOr<std::string> ProgramBeside(const std::string& name);

/// The command that starts `program` by the dynamic loader `loader` with the libraries in the
/// loader's folder and with no others, all of which it keeps from the programs that it starts in
/// turn. Arguments may follow. `loader` is absolute, since libraries are also opened later, and its
/// folder's path has no ':' or ';'.
std::vector<std::string> LoaderCommand(const std::string& loader, const std::string& program);

/// The command that starts `program`, a path of this build's: where a loader has started this
/// process, it starts that one too, since the machine's own C library may be too old for both.
/// Arguments may follow. Codes of OwnProgram().
absl::StatusOr<std::vector<std::string>> OwnProgramCommand(const std::string& program);

/// As Subprocess::Start(), for a program of this build, whose path is `request.arguments[0]`, by
/// OwnProgramCommand(). What cannot be executed is then found by the loader, in the new process,
/// which ends with code 127. Codes of Subprocess::Start() and OwnProgram().
absl::StatusOr<Subprocess> StartOwnProgram(SubprocessRequest request);

}  // namespace tony::os
