// Annotation of error messages with what was being done.
#include "common/status_macros.h"

#include "absl/strings/str_cat.h"

namespace tony {

absl::Status Annotate(const absl::Status& status, const std::string& context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", std::string(status.message())));
}

}  // namespace tony
