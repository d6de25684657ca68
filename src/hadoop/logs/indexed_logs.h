// Collected logs in the form that Hadoop calls IndexedFile or IFile.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/logs/aggregated_logs.h"

namespace tony::hadoop {

// Each log by itself, compressed or not, and behind them an index: Java objects, their size in four
// bytes, and the mark that the file begins with, which is random or made of the application's id.

/// Whether it has that form. The codes of FileStore::Read.
absl::StatusOr<bool> IsIndexedLogFile(const StoredFile& file);

/// The logs in the index's order. `file` must outlive it. The codes of
/// OpenAggregatedLogs().
absl::StatusOr<std::unique_ptr<AggregatedLogs>> OpenIndexedLogs(const StoredFile& file);

}  // namespace tony::hadoop
