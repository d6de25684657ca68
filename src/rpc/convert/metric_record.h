// The records of the file of a job's metrics, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/metrics/job_metrics.h"

namespace tony::rpc {

/// The version of the records. It rises when a reader of the old version would misunderstand them.
inline constexpr int kMetricFileVersion = 1;

/// What the file begins with.
struct MetricFileHeader {
  std::string job_id;
  std::vector<core::JobMetrics::Type> types;
  int64_t written_millis = 0;
};

std::string MetricHeaderToBytes(const MetricFileHeader& header);
/// InvalidArgument – these are no such bytes. FailedPrecondition – a newer version.
absl::StatusOr<MetricFileHeader> MetricHeaderFromBytes(absl::string_view bytes);

std::string MetricRecordToBytes(const core::JobMetrics::Image& image);
/// InvalidArgument – these are no such bytes.
absl::StatusOr<core::JobMetrics::Image> MetricRecordFromBytes(absl::string_view bytes);

}  // namespace tony::rpc
