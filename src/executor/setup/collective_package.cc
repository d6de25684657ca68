// The package lies at a fixed place relative to the program, in a build folder as in a runtime
// bundle, so no search path is needed.
#include "executor/setup/collective_package.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace tony::executor {

absl::StatusOr<std::string> FindCollectivePackage(const std::string& program) {
  const std::filesystem::path top = std::filesystem::path(program).parent_path().parent_path();
  const std::string folder = (top / "python").string();
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
