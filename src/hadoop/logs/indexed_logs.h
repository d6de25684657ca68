// Collected logs in the format that Hadoop calls IndexedFile or IFile.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/aggregated_logs.h"

namespace tony::hadoop {

// Layout of the file:
//   mark        random, or a hash of the application's id
//   logs        each by itself, compressed or not
//   index       serialized Java objects
//   index size  4 bytes
//   mark        the same as at the beginning

/// Whether `file` has this format. The codes of FileStore::Read.
absl::StatusOr<bool> IsIndexedLogFile(const StoredFile& file);

/// Opens the logs in the index's order. `file` must outlive the result. The codes of
/// OpenAggregatedLogs().
absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenIndexedLogs(const StoredFile& file);

}  // namespace tony::hadoop
