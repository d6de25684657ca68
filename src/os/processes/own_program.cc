// Looks in /proc/self/maps for the file that this function's own code is mapped from.
#include "os/processes/own_program.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

/// Whether a line of /proc/self/maps, "BEGIN-END …", describes the memory at `address`.
bool Holds(const std::string& line, uintptr_t address) {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  return std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
         begin <= address && address < end;
}

/// The path of a mapped or executed file. The kernel marks a file that is gone or was replaced;
/// after an upgrade there is a new one at the same path.
std::string WithoutMark(std::string path) {
  constexpr std::string_view kMark = " (deleted)";
  if (absl::EndsWith(path, {kMark.data(), kMark.size()})) path.resize(path.size() - kMark.size());
  return path;
}

}  // namespace

absl::StatusOr<std::string> OwnProgram() {
  // This function is linked into the program itself, like all code of tony.
  const auto own_code = reinterpret_cast<uintptr_t>(&OwnProgram);
  TONY_ASSIGN_OR_RETURN(const std::string maps, ReadFile("/proc/self/maps"));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(maps, '\n'))) {
    const size_t path = line.find('/');
    if (path != std::string::npos && Holds(line, own_code)) return WithoutMark(line.substr(path));
  }
  return absl::InternalError("/proc/self/maps does not say where this program lies");
}

absl::StatusOr<std::string> ProgramBeside(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const std::string own, OwnProgram());
  return (std::filesystem::path(own).parent_path() / name).string();
}

std::vector<std::string> LoaderCommand(const std::string& loader, const std::string& program) {
  const std::string libraries = std::filesystem::path(loader).parent_path().string();
  // The machine's library cache would supply libraries that the bundle lacks; it is better that
  // they fail.
  return {loader, "--inhibit-cache", "--library-path", libraries, program};
}

absl::StatusOr<std::vector<std::string>> OwnProgramCommand(const std::string& program) {
  TONY_ASSIGN_OR_RETURN(const std::string own, OwnProgram());
  std::error_code error;
  const std::string executed =
      WithoutMark(std::filesystem::read_symlink("/proc/self/exe", error).string());
  if (error) return absl::InternalError(absl::StrCat("/proc/self/exe: ", error.message()));
  if (executed != own) return LoaderCommand(executed, program);
  return std::vector<std::string>{program};
}

absl::StatusOr<Subprocess> StartOwnProgram(SubprocessRequest request) {
  if (!request.arguments.empty()) {
    TONY_ASSIGN_OR_RETURN(std::vector<std::string> command,
                          OwnProgramCommand(request.arguments.front()));
    command.insert(command.end(), request.arguments.begin() + 1, request.arguments.end());
    request.arguments = std::move(command);
  }
  return Subprocess::Start(request);
}

}  // namespace tony::os
