// A whole log that lies on this machine, for a download.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "web/api/job_logs.h"

namespace tony::pagedata {

/// Opens the log whose first segment is `path`, as it is now; it is read piece by piece. The codes
/// of logs::LogBytes::Open(); the source breaks with DataLoss if a part of the log is dropped
/// before it was read. Thread safe; the source belongs to the event loop.
absl::StatusOr<web::RawLog> OpenRawLog(const std::string& path);

}  // namespace tony::pagedata
