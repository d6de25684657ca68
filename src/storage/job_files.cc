// A name that begins with kUnfinished marks a file that is not whole yet; List() and
// ListUnfinished() divide a folder by it.
#include "storage/job_files.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace tony::storage {

absl::StatusOr<std::vector<std::string>> JobFiles::List(const std::string& folder) {
  return ListThose(folder, /*unfinished=*/false);
}

absl::StatusOr<std::vector<std::string>> JobFiles::ListUnfinished(const std::string& folder) {
  return ListThose(folder, /*unfinished=*/true);
}

absl::StatusOr<std::vector<std::string>> JobFiles::ListThose(const std::string& folder,
                                                             bool unfinished) {
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> names, ListAll(folder));
  std::erase_if(names, [unfinished](const std::string& name) {
    return absl::StartsWith(name, kUnfinished) != unfinished;
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tony::storage
