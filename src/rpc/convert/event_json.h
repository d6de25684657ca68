// Job events as lines of JSON, for the history file and `--json`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/record/job_event.h"
#include "tony/v1/job_event.pb.h"

namespace tony::rpc {

/// One line without its newline, in the JSON form of tony.v1.JobEvent. Bytes of the output tail
/// that are not UTF-8 are replaced.
std::string EventToJsonLine(const core::JobEvent& event);

/// One line without its newline, as above, with 64-bit numbers as numbers instead of texts, for the
/// job's API.
std::string EventToNumericJson(const v1::JobEvent& event);

/// InvalidArgument – `line` is not such a line, or is of a kind unknown to this version.
/// FailedPrecondition – it begins the history of a newer version, see convert.h.
absl::StatusOr<core::JobEvent> EventFromJsonLine(const std::string& line);

}  // namespace tony::rpc
