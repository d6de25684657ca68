// TonY's notation for a file that travels with a job: `path[::localName][#archive]`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/model/job_description.h"

namespace tony::jobfile {

/// Parses one entry. The local name defaults to the last part of the path; `#archive` is
/// case-insensitive. The path is kept as it is written, and its file is not accessed.
/// InvalidArgument – more than one `::`, no path, or a local name that is not a plain file name.
absl::StatusOr<core::ResourceEntry> ParseResource(const std::string& text);

/// The text that ParseResource() reads back as `entry`.
std::string FormatResource(const core::ResourceEntry& entry);

}  // namespace tony::jobfile
