// Sample times are distances from the sample before: two bytes each instead of eight.
#include "rpc/convert/metric_record.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"
#include "tony/v1/metrics.pb.h"

namespace tony::rpc {
namespace {

using Floats = google::protobuf::RepeatedField<float>;

void AddBuckets(const std::vector<core::MetricBucket>& buckets, Floats& floats) {
  floats.Reserve(static_cast<int>(buckets.size() * 3));
  for (const core::MetricBucket& bucket : buckets) {
    floats.Add(bucket.min);
    floats.Add(bucket.mean);
    floats.Add(bucket.max);
  }
}

std::vector<core::MetricBucket> BucketsOf(const Floats& floats) {
  std::vector<core::MetricBucket> buckets;
  buckets.reserve(static_cast<size_t>(floats.size()) / 3);
  for (int i = 0; i + 2 < floats.size(); i += 3) {
    buckets.push_back({floats[i], floats[i + 1], floats[i + 2]});
  }
  return buckets;
}

}  // namespace

std::string MetricHeaderToBytes(const MetricFileHeader& header) {
  v1::MetricFileHeader proto;
  proto.set_version(kMetricFileVersion);
  proto.set_job_id(ToUtf8(header.job_id));
  proto.set_written_millis(header.written_millis);
  for (const core::JobMetrics::Type& type : header.types) {
    v1::MetricFileHeader::Type* added = proto.add_types();
    added->set_name(ToUtf8(type.name));
    added->set_instances(type.instances);
  }
  return proto.SerializeAsString();
}

absl::StatusOr<MetricFileHeader> MetricHeaderFromBytes(absl::string_view bytes) {
  v1::MetricFileHeader proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || proto.version() < 1) {
    return absl::InvalidArgumentError("it does not begin with a header of metrics");
  }
  if (proto.version() > kMetricFileVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it was written by a newer version of tony (version ", proto.version(),
                     " of the file; this program reads up to ", kMetricFileVersion, ")"));
  }
  MetricFileHeader header{proto.job_id(), {}, proto.written_millis()};
  for (const v1::MetricFileHeader::Type& type : proto.types()) {
    header.types.push_back({type.name(), type.instances()});
  }
  return header;
}

std::string MetricRecordToBytes(const core::JobMetrics::Image& image) {
  v1::MetricRecord proto;
  *proto.mutable_task() = ToProto(image.task);
  if (image.quantile) proto.set_quantile(*image.quantile);
  proto.set_metric(ToUtf8(image.metric));
  const core::MetricSeries::Image& series = image.series;
  if (!series.samples.empty()) {
    proto.set_samples_begin_millis(series.samples.front().unix_millis);
  }
  int64_t before = proto.samples_begin_millis();
  for (const core::MetricSeries::Image::Sample& sample : series.samples) {
    // A longer gap than 49 days is shortened; the buckets have the true times.
    const int64_t distance =
        std::min<int64_t>(sample.unix_millis - before, std::numeric_limits<uint32_t>::max());
    proto.add_sample_distances(static_cast<uint32_t>(distance));
    proto.add_samples(sample.value);
    before = sample.unix_millis;
  }
  proto.set_fine_begin_millis(series.fine_begin_millis);
  AddBuckets(series.fine, *proto.mutable_fine());
  proto.set_coarse_begin_millis(series.coarse_begin_millis);
  proto.set_coarse_step_millis(series.coarse_step_millis);
  AddBuckets(series.coarse, *proto.mutable_coarse());
  return proto.SerializeAsString();
}

absl::StatusOr<core::JobMetrics::Image> MetricRecordFromBytes(absl::string_view bytes) {
  v1::MetricRecord proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("it is no record of a metric");
  }
  core::JobMetrics::Image image;
  image.task = FromProto(proto.task());
  if (proto.has_quantile()) image.quantile = proto.quantile();
  image.metric = proto.metric();
  core::MetricSeries::Image& series = image.series;
  int64_t millis = proto.samples_begin_millis();
  for (int i = 0; i < std::min(proto.samples_size(), proto.sample_distances_size()); ++i) {
    millis += proto.sample_distances(i);
    series.samples.push_back({millis, proto.samples(i)});
  }
  series.fine_begin_millis = proto.fine_begin_millis();
  series.fine = BucketsOf(proto.fine());
  series.coarse_begin_millis = proto.coarse_begin_millis();
  series.coarse_step_millis = proto.coarse_step_millis();
  series.coarse = BucketsOf(proto.coarse());
  return image;
}

}  // namespace tony::rpc
