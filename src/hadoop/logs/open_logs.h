// Opens a file of collected logs, in whichever form it is.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/aggregated_logs.h"

namespace tony::hadoop {

/// Finds out the form by the file's first bytes. `file` must outlive the result. The codes of
/// AggregatedLogs.
absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenAggregatedLogs(const StoredFile& file);

}  // namespace tony::hadoop
