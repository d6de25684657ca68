// A job's events on storage that outlives the ApplicationMaster's container and takes its time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "backend/job_files.h"
#include "common/clock.h"

namespace tony::appmaster {

/// Files "events/00000001.jsonl", "events/00000002.jsonl", …, each made in one step and never
/// changed: HDFS is no place for a file that grows. Lines that come while a file is written, or
/// within `pause` after it, go into the next one together, since each file costs the NameNode
/// memory for ever. Thread safe.
class EventArchive {
 public:
  /// Goes on behind what is kept in `files`. Codes of JobFiles.
  static absl::StatusOr<std::unique_ptr<EventArchive>> Open(
      std::unique_ptr<backend::JobFiles> files, Duration pause);
  /// Tries once more to write what is left.
  ~EventArchive();
  EventArchive(const EventArchive&) = delete;
  EventArchive& operator=(const EventArchive&) = delete;

  /// Whole lines, to be kept soon.
  void Add(const std::string& lines);

 private:
  EventArchive(std::unique_ptr<backend::JobFiles> files, Duration pause, int next);
  void Run();

  const std::unique_ptr<backend::JobFiles> files_;  ///< the thread's
  const Duration pause_;
  int next_;  ///< number of the next file; the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;     ///< not written yet; guarded by mutex_
  bool leaving_ = false;  ///< guarded by mutex_
  std::thread thread_;    ///< last: it uses the rest
};

}  // namespace tony::appmaster
