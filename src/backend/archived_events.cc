// File by file.
#include "backend/archived_events.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::backend {

absl::StatusOr<std::string> ReadArchivedEvents(JobFiles& files, const std::string& folder) {
  const std::string events =
      folder.empty() ? kEventFolder : absl::StrCat(folder, "/", kEventFolder);
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(events));
  std::string lines;
  for (const std::string& name : names) {
    TONY_ASSIGN_OR_RETURN(const std::string part, files.Read(absl::StrCat(events, "/", name)));
    lines += part;
  }
  return lines;
}

}  // namespace tony::backend
