// Follows a job through its folder until it has ended or was lost.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/record/job_view.h"
#include "history/line_tail.h"
#include "os/files/folder_watcher.h"
#include "storage/job_folder.h"

namespace tony::history {

/// The kernel wakes the watch: on new events, and when am.lock is closed because the
/// ApplicationMaster ends in whatever way. Not thread safe.
class JobWatch {
 public:
  /// Reads what has happened so far. The codes of FolderWatcher.
  static absl::StatusOr<std::unique_ptr<JobWatch>> Start(const storage::JobFolder& folder);

  /// Also reports changes in `sub_folder`. The codes of FolderWatcher::Watch.
  absl::Status Watch(const std::string& sub_folder) { return watcher_->Watch(sub_folder); }

  /// Waits for a change, for at most `timeout` (negative: without limit), and returns the changed
  /// paths in the job's folder and in the watched ones; may return none before the time is over.
  /// The wait also ends when `stop_fd` is readable (-1: none). The codes of FolderWatcher::Wait.
  absl::StatusOr<std::vector<std::string>> Wait(std::chrono::milliseconds timeout,
                                                int stop_fd = -1);

  const core::JobView& view() const { return view_; }
  /// Whether the job has its verdict.
  bool ended() const { return view_.verdict.has_value(); }
  /// Whether nothing more will happen: the job has ended, or its ApplicationMaster is gone, and so
  /// is whoever would start another one.
  bool over() const { return ended() || gone_; }

 private:
  JobWatch(storage::JobFolder folder, std::unique_ptr<os::FolderWatcher> watcher)
      : folder_(std::move(folder)), watcher_(std::move(watcher)), events_(folder_.events()) {}
  void ReadEvents();
  /// Looks whether the ApplicationMaster is gone, and reads its last events if it is.
  void CheckAlive();

  storage::JobFolder folder_;
  std::unique_ptr<os::FolderWatcher> watcher_;
  LineTail events_;
  core::JobView view_;
  bool gone_ = false;
  int checks_left_ = 0;  // remaining looks at the locks after am.lock was closed
};

}  // namespace tony::history
