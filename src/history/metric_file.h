// metrics.bin: a job's metrics as a file, for its page when the job is over, and for an
// ApplicationMaster that takes over.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/metrics/job_metrics.h"
#include "rpc/convert/metric_record.h"

namespace tony::history {

/// The bytes of such a file, part by part, so that nobody has to hold or wait for the whole:
///
///   "TONYMET1", then records, each: length (4 bytes), CRC-32 of the payload (4 bytes), payload
///   (rpc/convert/metric_record.h); the first is the header. Numbers are little endian.
///
/// `metrics` may change between two parts: every record is right by itself. Not thread safe.
class MetricFileWriter {
 public:
  /// `metrics` must outlive this.
  MetricFileWriter(const core::JobMetrics& metrics, const rpc::MetricFileHeader& header);

  /// The next part, of about `most` bytes and one record at least; empty: the file is complete.
  std::string Next(size_t most);

 private:
  const core::JobMetrics& metrics_;
  const size_t series_;  ///< those that were there at the beginning
  std::string pending_;  ///< what the first part begins with
  size_t next_ = 0;
};

/// How the reading of such a file went.
struct MetricFileReading {
  rpc::MetricFileHeader header;
  std::string trouble;  ///< why it was not read to its end; empty: it was
};

/// Reads the records up to the first that is cut off or damaged. `use` is called for each series.
/// InvalidArgument – it is no such file, or its header is damaged. FailedPrecondition – it was
/// written by a newer version.
absl::StatusOr<MetricFileReading> ReadMetricFile(
    absl::string_view bytes, const std::function<void(const rpc::MetricFileHeader&)>& begin,
    const std::function<void(const core::JobMetrics::Image&)>& use);

/// The metrics of a file, and how the reading went.
struct StoredMetrics {
  core::JobMetrics metrics;
  MetricFileReading reading;
};
/// Reads a whole file. The codes of ReadMetricFile().
absl::StatusOr<StoredMetrics> MetricsFromBytes(absl::string_view bytes);

}  // namespace tony::history
