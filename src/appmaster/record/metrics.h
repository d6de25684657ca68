// The job's metrics in the ApplicationMaster: fed by measurements, kept in a file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/metrics/job_metrics.h"
#include "core/record/job_event.h"
#include "history/metric_file.h"
#include "os/files/files.h"

namespace tony::appmaster {

/// Adds measurements to the series as they come, and each second to the bands. Replaces the file
/// from time to time, a part per turn of the loop: so seldom that writing takes at most 50 kB a
/// second. Not thread safe: owned by the event loop.
class Metrics {
 public:
  struct Options {
    std::string job_id;
    std::string path;      ///< of the file; a second one with ".new" behind its name is written
    Duration least_pause;  ///< between two files
    core::JobMetrics::Options metrics;
  };
  /// Called when the file was replaced.
  using Kept = std::function<void()>;

  /// `loop` and `clock` must outlive this.
  Metrics(EventLoop& loop, const Clock& clock, Options options, Kept kept);

  /// Takes over the metrics that an ApplicationMaster before this one has kept; `bytes`: its file.
  /// What cannot be read is left out and logged.
  void Restore(const std::string& bytes);
  /// `earlier`: measurements of the same run that came along, oldest first. Their times are told by
  /// the clock of their executor.
  void Take(const core::TaskMeasured& measured, const std::vector<core::TaskUsage>& earlier = {});
  /// Writes the file once more, whole, if there was any measurement: the job is over.
  void Finish();

  const core::JobMetrics& metrics() const { return metrics_; }

 private:
  /// A file that is being written.
  struct Writing {
    Writing(history::MetricFileWriter file_writer, os::AppendFile new_file)
        : writer(std::move(file_writer)), file(std::move(new_file)) {}

    history::MetricFileWriter writer;
    os::AppendFile file;
    size_t bytes = 0;
  };

  void AddBands();
  /// `bytes`: size of the last file.
  void Schedule(size_t bytes);
  /// Writes a part, and schedules the next one.
  void WriteSome();
  /// Whether the file is complete. Errno codes.
  absl::StatusOr<bool> WritePart();
  void Say(const absl::Status& outcome);

  EventLoop& loop_;
  const Clock& clock_;
  const Options options_;
  const Kept kept_;
  core::JobMetrics metrics_;
  std::optional<Writing> writing_;
  bool any_ = false;                               ///< something was measured that no file has
  bool said_loss_ = false;                         ///< the loss of metrics was logged
  std::unique_ptr<EventLoop::Handle> band_timer_;  ///< set while measurements wait for their band
  std::unique_ptr<EventLoop::Handle> file_timer_;  ///< set while a file is due or being written
};

}  // namespace tony::appmaster
