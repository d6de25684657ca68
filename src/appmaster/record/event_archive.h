// Keeps a job's events on slow storage that outlives the ApplicationMaster's container.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "rpc/convert/event_lines.h"
#include "storage/archived_events.h"
#include "storage/job_files.h"

namespace tony::appmaster {

/// Files "events/00000001.jsonl", "events/00000002.jsonl", …, each created in one step and never
/// changed, because HDFS does not suit a file that grows. Each file costs the NameNode memory for
/// ever. Therefore lines that arrive while a file is written, or within `pause` after it, go into
/// the next file together, and kMostSmallFiles small files are merged into one. Thread safe.
class EventArchive {
 public:
  static constexpr size_t kMostSmallFiles = 64;
  /// Small files that are larger than this in total are not merged into one.
  static constexpr size_t kMostMergedBytes = 16 << 20;

  /// The end of the events that `files` keep; reads at most the last file. `bytes` and `rest` are
  /// 0. Codes of JobFiles.
  static absl::StatusOr<rpc::HistoryEnd> ReadEnd(storage::JobFiles& files);
  /// Continues behind the events kept in `files`. Codes of JobFiles.
  static absl::StatusOr<std::unique_ptr<EventArchive>> Open(
      std::unique_ptr<storage::JobFiles> files, Duration pause);
  /// Tries once more to write the remaining lines.
  ~EventArchive();
  EventArchive(const EventArchive&) = delete;
  EventArchive& operator=(const EventArchive&) = delete;

  /// Adds whole lines, which are written soon.
  void Add(const std::string& lines);
  /// Replaces the measurements in storage::kUsageFile soon. A failed write is not repeated, because
  /// newer measurements follow.
  void KeepUsage(const std::string& lines);
  /// Replaces storage::kMetricFile soon by the file `path` of this machine. A failed write is not
  /// repeated, because newer metrics follow; the last one is tried once.
  void KeepMetrics(const std::string& path);
  /// Replaces the small file `name` soon. A failed write is not repeated: the file is of use, but
  /// nothing depends on it.
  void KeepFile(const std::string& name, const std::string& contents);

 private:
  EventArchive(std::unique_ptr<storage::JobFiles> files, Duration pause,
               storage::EventFiles listed);
  void Run();
  // The functions below are called without the mutex.
  /// Returns whether the lines are kept.
  bool WriteEvents(const std::string& lines);
  void WriteUsage(const std::string& lines);
  void WriteMetrics(const std::string& path);
  void WriteFiles(const std::map<std::string, std::string>& files);
  /// Merges the newest files into one. After a failure it tries again when as many new files have
  /// been added.
  void MergeIfMany();
  absl::Status Merge();
  /// Removes the merged small files; until then readers leave them out.
  absl::Status RemoveCovered();
  /// Cancelled – this object is being destroyed, and its end waits for events only.
  absl::Status CheckStaying();

  const std::unique_ptr<storage::JobFiles> files_;  ///< used by the thread only
  const Duration pause_;
  std::vector<storage::EventFile> kept_;     ///< oldest first; used by the thread only
  std::vector<storage::EventFile> covered_;  ///< merged, to be removed; used by the thread only
  size_t small_ = 0;  ///< small files since the last merge; used by the thread only
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;                               ///< not written yet; guarded by mutex_
  std::optional<std::string> usage_;                ///< not written yet; guarded by mutex_
  std::optional<std::string> metrics_path_;         ///< not copied yet; guarded by mutex_
  std::map<std::string, std::string> small_files_;  ///< not written yet; guarded by mutex_
  bool leaving_ = false;                            ///< guarded by mutex_
  bool said_loss_ = false;                          ///< used by the thread only
  bool said_usage_loss_ = false;                    ///< used by the thread only
  std::thread thread_;                              ///< last, because it uses the members above
};

}  // namespace tony::appmaster
