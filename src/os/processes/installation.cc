// Tells an installed tree from a build folder by the daemons' folder, libexec/tony. A prefix is
// never compiled in, so that a tree can be moved, unpacked anywhere, and installed by another user.
#include "os/processes/installation.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/processes/own_program.h"

namespace tony::os {
namespace {

constexpr char kDaemons[] = "libexec/tony";
constexpr char kRuntimeArchive[] = "tony-runtime.tar.gz";

bool IsFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Installation Installed(const std::filesystem::path& prefix) {
  return {.daemons = prefix / kDaemons,
          .python = prefix / "lib/tony/python",
          .runtime = prefix / "lib/tony" / kRuntimeArchive};
}

}  // namespace

Installation InstallationOf(const std::string& program) {
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  const std::filesystem::path above = folder.parent_path();
  if (folder.filename() == "tony" && above.filename() == "libexec") {
    return Installed(above.parent_path());
  }
  // A build folder may be an installation's prefix as well; its own programs belong to the build.
  if (folder.filename() == "bin" && IsFolder(above / kDaemons) &&
      ::access((folder / "tony-am").c_str(), X_OK) != 0) {
    return Installed(above);
  }
  return {.daemons = folder,
          .python = above / "python",
          .runtime = above / "runtime" / kRuntimeArchive};
}

absl::StatusOr<Installation> OwnInstallation() {
  TONY_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  return InstallationOf(program);
}

absl::StatusOr<std::string> FindDaemon(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const Installation own, OwnInstallation());
  std::string path = own.daemon(name);
  if (::access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError(
      absl::StrCat("there is no program ", path,
                   ", which is a part of tony; install tony as a whole (docs/install.md)"));
}

}  // namespace tony::os
