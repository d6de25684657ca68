// The API's wish for merged logs, as src/logs takes it.
#pragma once

#include "absl/status/statusor.h"
#include "logs/log_merge.h"
#include "web/api/job_logs.h"

namespace tony::pagedata {

/// Returns the range of `wish`, for logs that do not grow. InvalidArgument – its pattern is none of
/// RE2's, or there is no such level.
absl::StatusOr<logs::MergeRange> MergeRangeOf(const web::MergeWish& wish);

}  // namespace tony::pagedata
