// Job events as lines of JSON: the history file and `--json`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/record/job_event.h"

namespace tony::rpc {

/// One line without its newline; the form of proto tony.v1.JobEvent. Bytes of the output tail that
/// are not UTF-8 are replaced.
std::string EventToJsonLine(const core::JobEvent& event);

/// InvalidArgument – not such a line, or of a kind that this version does not know.
absl::StatusOr<core::JobEvent> EventFromJsonLine(const std::string& line);

}  // namespace tony::rpc
