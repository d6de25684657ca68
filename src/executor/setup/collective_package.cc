// The package has a fixed place in each kind of installation, so no search path is needed.
#include "executor/setup/collective_package.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "os/processes/installation.h"

namespace tony::executor {

absl::StatusOr<std::string> FindCollectivePackage(const std::string& program) {
  std::string folder = os::InstallationOf(program).python;
  // A build with a sanitizer has the package but not the library.
  const std::string library = absl::StrCat(folder, "/tony/collective/libtony_collective.so");
  if (::access(library.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("programs do not find tony.collective, since there is no ", library));
  }
  if (folder.find(':') != std::string::npos) {
    return absl::FailedPreconditionError(absl::StrCat(
        "programs do not find tony.collective, since PYTHONPATH can have no folder with a ':': ",
        folder));
  }
  return folder;
}

}  // namespace tony::executor
