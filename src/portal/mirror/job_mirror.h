// The copies of a user's newest jobs on a cluster, as a location that the portal can show.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/files/folder_handle.h"
#include "portal/mirror/mirrored_job.h"
#include "storage/job_files.h"

namespace tony::portal {

/// One round after the other:
///
///   1. The jobs' folders there are listed; copies of those that are gone are removed.
///   2. Of the newest kMostJobs, as far as they fit into kMostBytes, what is new is copied.
///   3. Of those that have not ended, the ResourceManager is asked whether they still can.
///
/// Copies stay when the cluster cannot be reached. Not thread safe.
class JobMirror {
 public:
  static constexpr size_t kMostJobs = 2000;
  static constexpr int64_t kMostBytes = int64_t{4} << 30;
  static constexpr std::chrono::seconds kAskPause{10};

  /// The cluster. Plain data; all of it is called from Round() only.
  struct Cluster {
    std::unique_ptr<storage::JobFiles> files;  ///< the folder with the jobs' folder in it
    /// Whether YARN says that the application can do nothing any more. An error: nobody knows.
    std::function<absl::StatusOr<bool>(const std::string& id)> is_over;
    /// Why what lies there may not be shown as this user's own (any more); asked before each
    /// listing. Null: it is known to be the user's.
    std::function<absl::Status()> check_owner = nullptr;
  };

  /// `folder`: where the copies are, in a folder `jobs`; made if it is missing. The codes of
  /// os::OpenOrMakeOwnFolder(). `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<JobMirror>> Open(const std::string& folder, Cluster cluster,
                                                         const Clock& clock,
                                                         int64_t most_bytes = kMostBytes);

  /// Does one round. Returns how many jobs are not shown, since they are too old or too many.
  /// Cancelled – `stop` was requested. Otherwise the codes of Cluster::check_owner, and those of
  /// storage::JobFiles, of the first job that could not be copied or of the list.
  absl::StatusOr<size_t> Round(const std::stop_token& stop);

 private:
  struct Job {
    std::unique_ptr<MirroredJob> copy;
    bool over = false;
    TimePoint next_question{};
  };

  JobMirror(os::FolderHandle jobs, Cluster cluster, const Clock& clock, int64_t most_bytes)
      : jobs_folder_(std::move(jobs)),
        cluster_(std::move(cluster)),
        clock_(clock),
        most_bytes_(most_bytes) {}

  /// The names of the jobs there, newest first.
  absl::StatusOr<std::vector<std::string>> ListThere();
  absl::Status Look(const std::string& id, Job& job, const std::stop_token& stop);
  /// Removes all copies but those of the first `count` of `ids`.
  void Forget(const std::vector<std::string>& ids, size_t count);

  const os::FolderHandle jobs_folder_;
  const Cluster cluster_;
  const Clock& clock_;
  const int64_t most_bytes_;
  bool answers_ = true;         ///< YARN has answered all questions of this round
  std::string too_much_;        ///< the newest job for which there was no room; empty: none
  int64_t too_much_bytes_ = 0;  ///< its size
  std::map<std::string, Job> jobs_;
};

}  // namespace tony::portal
