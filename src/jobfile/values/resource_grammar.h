// TonY's notation for a file that travels with a job: `path[::localName][#archive]`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/model/job_description.h"

namespace tony::jobfile {

/// Reads one entry. The local name defaults to the last part of the path; `#archive` is recognised
/// in any case. The path is taken as written: neither resolved nor looked for. InvalidArgument –
/// more than one `::`, no path, or a local name that is not a plain file name.
absl::StatusOr<core::ResourceEntry> ParseResource(const std::string& text);

/// The notation that ParseResource() reads back as `entry`.
std::string FormatResource(const core::ResourceEntry& entry);

}  // namespace tony::jobfile
