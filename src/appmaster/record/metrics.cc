// One file at a time: a timer of the pause, then turns of the loop, each with a part, then the
// rename. A reader always finds a whole file.
#include "appmaster/record/metrics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::appmaster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A part takes about a millisecond.
constexpr size_t kPartBytes = size_t{256} * 1024;
constexpr int64_t kBytesPerSecond = 50'000;
/// No executor keeps measurements back for longer.
constexpr double kMostSecondsBetween = 600;

/// How much earlier `first` was measured than `second`; 0 for times that cannot be.
int64_t MillisBetween(const core::TaskUsage& first, const core::TaskUsage& second) {
  const double passed = second.seconds - first.seconds;
  return passed > 0 ? static_cast<int64_t>(std::min(passed, kMostSecondsBetween) * 1000) : 0;
}

}  // namespace

Metrics::Metrics(EventLoop& loop, const Clock& clock, Options options, Kept kept)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      kept_(std::move(kept)),
      metrics_(options_.metrics) {}

void Metrics::Restore(const std::string& bytes) {
  const absl::StatusOr<history::MetricFileReading> read = history::ReadMetricFile(
      bytes, [](const rpc::MetricFileHeader&) {},
      [this](const core::JobMetrics::Image& image) { metrics_.Restore(image); });
  const std::string trouble = read.ok() ? read->trouble : std::string(read.status().message());
  if (!trouble.empty()) {
    LogWarning(absl::StrCat("the earlier metrics cannot all be read: ", trouble),
               {{"file", options_.path}});
  }
}

void Metrics::Take(const core::TaskMeasured& measured,
                   const std::vector<core::TaskUsage>& earlier) {
  const int64_t now = clock_.UnixMillis();
  for (const core::TaskUsage& usage : earlier) {
    metrics_.Take(measured.task, measured.attempt, usage,
                  now - MillisBetween(usage, measured.usage));
  }
  metrics_.Take(measured.task, measured.attempt, measured.usage, now);
  any_ = true;
  if (band_timer_ == nullptr) band_timer_ = loop_.After(seconds(1), [this] { AddBands(); });
  if (file_timer_ == nullptr) Schedule(0);
}

void Metrics::AddBands() {
  band_timer_.reset();
  metrics_.AddBands(clock_.UnixMillis());
}

// A job with many tasks has a large file, which is replaced the more seldom.
void Metrics::Schedule(size_t bytes) {
  const Duration pause = std::max<Duration>(
      options_.least_pause, milliseconds(static_cast<int64_t>(bytes) * 1000 / kBytesPerSecond));
  file_timer_ = loop_.After(pause, [this] {
    file_timer_.reset();
    if (any_) WriteSome();
  });
}

void Metrics::WriteSome() {
  const absl::StatusOr<bool> complete = WritePart();
  if (complete.ok() && !*complete) {
    file_timer_ = loop_.After(Duration::zero(), [this] { WriteSome(); });
    return;
  }
  const size_t bytes = writing_ ? writing_->bytes : 0;
  writing_.reset();
  Say(complete.status());
  Schedule(bytes);
}

absl::StatusOr<bool> Metrics::WritePart() {
  const std::string path = absl::StrCat(options_.path, ".new");
  if (!writing_) {
    any_ = false;
    TONY_ASSIGN_OR_RETURN(os::AppendFile file, os::AppendFile::Open(path));
    TONY_RETURN_IF_ERROR(file.Cut(0));  // what a killed ApplicationMaster has left
    const rpc::MetricFileHeader header{options_.job_id, options_.metrics.types,
                                       clock_.UnixMillis()};
    writing_.emplace(history::MetricFileWriter(metrics_, header), std::move(file));
  }
  const std::string part = writing_->writer.Next(kPartBytes);
  if (!part.empty()) {
    writing_->bytes += part.size();
    TONY_RETURN_IF_ERROR(writing_->file.Append(part));
    return false;
  }
  if (rename(path.c_str(), options_.path.c_str()) != 0) return os::ErrnoError(errno, options_.path);
  kept_();
  return true;
}

void Metrics::Finish() {
  band_timer_.reset();
  file_timer_.reset();
  if (!any_ && !writing_) return;
  writing_.reset();
  absl::StatusOr<bool> complete = false;
  while (complete.ok() && !*complete) complete = WritePart();
  writing_.reset();
  Say(complete.status());
}

void Metrics::Say(const absl::Status& outcome) {
  if (outcome.ok()) {
    said_loss_ = false;
  } else if (!std::exchange(said_loss_, true)) {
    LogWarning(absl::StrCat("the job's metrics are not kept: ", std::string(outcome.message())));
  }
}

}  // namespace tony::appmaster
