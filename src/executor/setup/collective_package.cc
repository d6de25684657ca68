// The package has a fixed place in each kind of installation, so no search path is needed.
#include "executor/setup/collective_package.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "os/processes/installation.h"

namespace tony::executor {

namespace {

/// Returns `folder` if `file` can be read and PYTHONPATH can hold the folder. `what`: the programs'
/// loss otherwise.
absl::StatusOr<std::string> CheckPackage(const std::string& folder, const std::string& file,
                                         const std::string& what) {
  if (::access(file.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(what, ", since there is no ", file));
  }
  if (folder.find(':') != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ", since PYTHONPATH can have no folder with a ':': ", folder));
  }
  return folder;
}

}  // namespace

// A build with a sanitizer has the package but not the library.
absl::StatusOr<std::string> FindCollectivePackage(const std::string& program) {
  const std::string folder = os::InstallationOf(program).python;
  return CheckPackage(folder, absl::StrCat(folder, "/tony/collective/libtony_collective.so"),
                      "programs do not find tony.collective");
}

absl::StatusOr<std::string> FindStacksPackage(const std::string& program) {
  const std::string folder = absl::StrCat(os::InstallationOf(program).python, "/tony/_stacks");
  return CheckPackage(folder, absl::StrCat(folder, "/sitecustomize.py"),
                      "programs cannot be asked for their stacks");
}

}  // namespace tony::executor
