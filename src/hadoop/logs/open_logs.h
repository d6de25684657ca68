// Opens a file of collected logs of either format.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/aggregated_logs.h"

namespace tony::hadoop {

/// Opens `file` as an indexed file if it begins and ends with the same mark, otherwise as a TFile.
/// `file` must outlive the result. The codes of AggregatedLogs.
absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenAggregatedLogs(const StoredFile& file);

}  // namespace tony::hadoop
