// A job's events on storage that outlives the ApplicationMaster's container and takes its time.
#pragma once

#include <condition_variable>
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

/// Files "events/00000001.jsonl", "events/00000002.jsonl", …, each made in one step and never
/// changed: HDFS is no place for a file that grows. Each costs the NameNode memory for ever, so
/// lines that come while a file is written, or within `pause` after it, go into the next one
/// together; and when there are kMostSmallFiles they become one. Thread safe.
class EventArchive {
 public:
  static constexpr size_t kMostSmallFiles = 64;
  /// Files that are larger than that together do not become one.
  static constexpr size_t kMostMergedBytes = 16 << 20;

  /// How far the events go that `files` keep; reads the last file only, if it has one. `bytes` and
  /// `rest` are 0. Codes of JobFiles.
  static absl::StatusOr<rpc::HistoryEnd> ReadEnd(storage::JobFiles& files);
  /// Goes on behind what is kept in `files`. Codes of JobFiles.
  static absl::StatusOr<std::unique_ptr<EventArchive>> Open(
      std::unique_ptr<storage::JobFiles> files, Duration pause);
  /// Tries once more to write what is left.
  ~EventArchive();
  EventArchive(const EventArchive&) = delete;
  EventArchive& operator=(const EventArchive&) = delete;

  /// Whole lines, to be kept soon.
  void Add(const std::string& lines);
  /// To be kept soon in place of what was kept last, in backend::kUsageFile. Lost where that fails:
  /// newer ones will come.
  void KeepUsage(const std::string& lines);

 private:
  EventArchive(std::unique_ptr<storage::JobFiles> files, Duration pause,
               storage::EventFiles listed);
  void Run();
  // All of these without the mutex.
  /// Returns whether they are kept.
  bool WriteEvents(const std::string& lines);
  void WriteUsage(const std::string& lines);
  /// Makes one file of the newest ones. What fails is tried again when there are as many more.
  void MergeIfMany();
  absl::Status Merge();
  /// Until they are removed readers leave them out.
  absl::Status RemoveCovered();
  /// Cancelled – the job's end, or this process's, waits, and for nothing but events.
  absl::Status CheckStaying();

  const std::unique_ptr<storage::JobFiles> files_;  ///< the thread's
  const Duration pause_;
  std::vector<storage::EventFile> kept_;     ///< oldest first; the thread's
  std::vector<storage::EventFile> covered_;  ///< to be removed; the thread's
  size_t small_ = 0;                         ///< of them, since they were merged last; the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;                 ///< not written yet; guarded by mutex_
  std::optional<std::string> usage_;  ///< not written yet; guarded by mutex_
  bool leaving_ = false;              ///< guarded by mutex_
  bool said_loss_ = false;            ///< the thread's
  bool said_usage_loss_ = false;      ///< the thread's
  std::thread thread_;                ///< last: it uses the rest
};

}  // namespace tony::appmaster
