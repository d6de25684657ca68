// The length comes before its checksum is known to be right, so it is checked against what is there
// before anything is made of that size.
#include "history/metric_file.h"

#include <zlib.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::history {
namespace {

constexpr absl::string_view kMagic = "TONYMET1";
constexpr size_t kNumberBytes = 4;
constexpr size_t kFrameBytes = 2 * kNumberBytes;

void AppendNumber(uint32_t number, std::string& bytes) {
  for (size_t i = 0; i < kNumberBytes; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

uint32_t NumberAt(absl::string_view bytes, size_t position) {
  uint32_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) {
    number |= uint32_t{static_cast<unsigned char>(bytes[position + i])} << (8 * i);
  }
  return number;
}

uint32_t Checksum(absl::string_view payload) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(payload.data());
  return static_cast<uint32_t>(crc32_z(0, bytes, payload.size()));
}

void AppendRecord(const std::string& payload, std::string& bytes) {
  AppendNumber(static_cast<uint32_t>(payload.size()), bytes);
  AppendNumber(Checksum(payload), bytes);
  bytes += payload;
}

/// Takes the payload of the next record off `rest`; nullopt: it is cut off or damaged.
std::optional<absl::string_view> TakeRecord(absl::string_view& rest) {
  if (rest.size() < kFrameBytes) return std::nullopt;
  const size_t length = NumberAt(rest, 0);
  if (length > rest.size() - kFrameBytes) return std::nullopt;
  const absl::string_view payload = rest.substr(kFrameBytes, length);
  if (Checksum(payload) != NumberAt(rest, kNumberBytes)) return std::nullopt;
  rest.remove_prefix(kFrameBytes + length);
  return payload;
}

}  // namespace

MetricFileWriter::MetricFileWriter(const core::JobMetrics& metrics,
                                   const rpc::MetricFileHeader& header)
    : metrics_(metrics), series_(metrics.series()), pending_(kMagic) {
  AppendRecord(rpc::MetricHeaderToBytes(header), pending_);
}

std::string MetricFileWriter::Next(size_t most) {
  std::string part = std::move(pending_);
  pending_.clear();
  while (next_ < series_ && part.size() < most) {
    AppendRecord(rpc::MetricRecordToBytes(metrics_.MakeImage(next_++)), part);
  }
  return part;
}

absl::StatusOr<MetricFileReading> ReadMetricFile(
    absl::string_view bytes, const std::function<void(const rpc::MetricFileHeader&)>& begin,
    const std::function<void(const core::JobMetrics::Image&)>& use) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("it is no file of metrics");
  }
  absl::string_view rest = bytes.substr(kMagic.size());
  const std::optional<absl::string_view> first = TakeRecord(rest);
  if (!first) return absl::InvalidArgumentError("its header is cut off or damaged");
  MetricFileReading reading;
  TONY_ASSIGN_OR_RETURN(reading.header, rpc::MetricHeaderFromBytes(*first));
  begin(reading.header);
  while (!rest.empty()) {
    const size_t position = bytes.size() - rest.size();
    const std::optional<absl::string_view> payload = TakeRecord(rest);
    if (!payload) {
      reading.trouble = absl::StrCat("it is cut off or damaged at byte ", position, " of ",
                                     bytes.size(), "; what comes behind was not read");
      return reading;
    }
    const absl::StatusOr<core::JobMetrics::Image> image = rpc::MetricRecordFromBytes(*payload);
    // The checksum is right, so a newer writer has added a kind of record.
    if (image.ok()) use(*image);
  }
  return reading;
}

absl::StatusOr<StoredMetrics> MetricsFromBytes(absl::string_view bytes) {
  std::optional<core::JobMetrics> metrics;
  TONY_ASSIGN_OR_RETURN(
      MetricFileReading reading,
      ReadMetricFile(
          bytes,
          [&metrics](const rpc::MetricFileHeader& header) {
            metrics.emplace(core::JobMetrics::Options{.types = header.types});
          },
          [&metrics](const core::JobMetrics::Image& image) { metrics->Restore(image); }));
  return StoredMetrics{*std::move(metrics), std::move(reading)};
}

}  // namespace tony::history
