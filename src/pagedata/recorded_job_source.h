// A job as its folder records it, for its page: read once, and read on while the job lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/worker.h"
#include "history/line_tail.h"
#include "history/metric_file.h"
#include "history/stored_job.h"
#include "pagedata/event_reader.h"
#include "web/api/job_source.h"

namespace tony::pagedata {

/// Load() may take a while for a long history and is called on a thread; then the object belongs to
/// the event loop. Not thread safe.
class RecordedJobSource : public web::JobSource {
 public:
  /// Reads the job in `folder`. `clock` must outlive the result. NotFound – there is no such job
  /// (any more). FailedPrecondition – a newer version has written its history.
  static absl::StatusOr<std::unique_ptr<RecordedJobSource>> Load(const storage::JobFolder& folder,
                                                                 const std::string& id,
                                                                 const Clock& clock);

  /// Reads what a living job has recorded since the last call. Returns whether anything is new.
  bool Refresh();
  /// The metrics, which are read on a thread, since they may be long.
  void SetMetrics(core::JobMetrics metrics) { metrics_ = std::move(metrics); }
  /// Whether anything may still change.
  bool alive() const { return stored_.alive && !stored_.ended(); }
  const history::StoredJob& stored() const { return stored_; }

  const core::ObservedJob& Job() override { return stored_.job; }
  const core::JobTimeline& timeline() const override { return timeline_; }
  const web::JobChanges& changes() const override { return changes_; }
  const core::JobMetrics& metrics() const override { return metrics_; }
  int64_t UnixMillis() const override { return clock_.UnixMillis(); }
  const std::vector<web::ConfigKey>& config() const override { return config_; }
  void ReadEvents(int64_t after, size_t limit, TakeEvents take) override;
  void Stop(const std::string& why, Stopped done) override;
  bool recorded() const override { return true; }
  bool can_stop() const override { return alive() && stop_ != nullptr; }
  void FindPrevious(TakePrevious take) override {
    if (find_previous_ == nullptr) return take(std::nullopt);
    find_previous_(std::move(take));
  }
  /// The thread on which ReadEvents() reads; it must outlive this. Null: they are read within the
  /// call.
  void set_event_worker(Worker* worker) { event_worker_ = worker; }
  /// What ends the job while it lives; null: nothing here can.
  void set_stop(std::function<void(const std::string& why, Stopped done)> stop) {
    stop_ = std::move(stop);
  }
  /// What finds the last successful run before this one; null: none is known.
  void set_find_previous(std::function<void(TakePrevious take)> find) {
    find_previous_ = std::move(find);
  }

 private:
  RecordedJobSource(const storage::JobFolder& folder, const Clock& clock)
      : clock_(clock),
        events_(std::make_shared<EventReader>(folder.events())),
        tail_(folder.events()) {}

  /// What tells a new file of measurements from the one that was read.
  struct UsageMark {
    ino_t inode = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    bool operator==(const UsageMark&) const = default;
  };

  /// Reads the history of a job that is not alive. The codes of history::ReadStoredJob().
  absl::Status ReadWhole(const storage::JobFolder& folder, const std::string& id);
  /// Reads the lines that are new. Returns whether there were any.
  bool ReadLines();
  void ReadUsage();
  void ConcludeAgain();

  const Clock& clock_;
  const std::shared_ptr<EventReader> events_;  ///< shared with the thread that reads
  Worker* event_worker_ = nullptr;
  history::StoredJob stored_;
  core::JobTimeline timeline_;
  web::JobChanges changes_;
  core::JobMetrics metrics_{{}};
  std::vector<web::ConfigKey> config_;
  std::function<void(TakePrevious take)> find_previous_;
  std::function<void(const std::string& why, Stopped done)> stop_;
  history::LineTail tail_;
  int lines_ = 0;
  UsageMark usage_mark_;      ///< of the file as read last
  bool wait_filled_ = false;  ///< the wait is none of the events'
};

/// The metrics in the job's folder; none: it has none that can be read. Thread safe.
std::optional<core::JobMetrics> ReadMetrics(const storage::JobFolder& folder);

}  // namespace tony::pagedata
