// First one stat() for each folder finds the old ones; only those are opened and checked. So a
// submission beside a thousand past jobs takes no longer than beside none.
#include "client/jobs/history_retention.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/jobs/job_remains.h"
#include "client/jobs/local_folder.h"
#include "common/logging.h"
#include "os/files/file_lock.h"
#include "os/files/folder_handle.h"
#include "os/files/folder_trust.h"
#include "os/files/unique_fd.h"
#include "storage/job_folder.h"
#include "storage/job_proof.h"

namespace tony::client {
namespace {

constexpr int64_t kMillisPerDay = 24 * 3600 * int64_t{1000};
/// 2020-01-01. tony did not exist before: an older folder was made while the clock was wrong, so
/// its age is unknown.
constexpr int64_t kEarliestMillis = 18262 * kMillisPerDay;
/// Jobs removed during one submission; the next submission goes on.
constexpr int kJobsAtOnce = 1000;

int64_t Millis(const timespec& time) {
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

/// Names and times of folders that have not changed since `limit`, oldest first. Reads only each
/// folder's status.
std::vector<std::pair<int64_t, std::string>> OldFolders(const os::FolderHandle& jobs, int64_t limit,
                                                        const std::atomic<bool>& stop) {
  std::vector<std::pair<int64_t, std::string>> old;
  const absl::StatusOr<std::vector<std::string>> names = jobs.List();
  if (!names.ok()) return old;
  for (const std::string& name : *names) {
    if (stop) break;
    struct stat status {};
    if (fstatat(jobs.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode)) {
      const int64_t changed = Millis(status.st_mtim);
      if (changed >= kEarliestMillis && changed < limit) old.emplace_back(changed, name);
    }
  }
  std::sort(old.begin(), old.end());
  return old;
}

/// Removes the job unless it lives or holds checkpoints.
bool RemoveJob(const os::FolderHandle& jobs, const std::string& name) {
  // This check comes before the locks are taken: a lock file that LockFile() makes would look like
  // proof of a job the next time.
  if (!storage::IsJobFolder(jobs, name)) return false;
  const storage::JobFolder folder(jobs.PathOf(name));
  std::error_code error;
  if (std::filesystem::exists(folder.checkpoints(), error) &&
      !std::filesystem::is_empty(folder.checkpoints(), error)) {
    return false;
  }
  if (error) return false;
  const absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder.am_guard());
  const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
  return guard.ok() && lock.ok() && storage::RemoveJobFolder(jobs, name).ok();
}

}  // namespace

int RemoveOldJobs(const std::string& local_dir, int days, int64_t now_unix_millis, int most,
                  const std::atomic<bool>& stop) {
  const absl::StatusOr<os::FolderHandle> jobs = os::OpenOwnFolder(storage::JobsFolder(local_dir));
  if (!jobs.ok()) return 0;
  int removed = 0;
  for (const auto& [millis, name] :
       OldFolders(*jobs, now_unix_millis - days * kMillisPerDay, stop)) {
    if (stop || removed == most) break;
    if (!RemoveJob(*jobs, name)) continue;
    LogDebug("an old job is removed", {{"job", name}});
    ++removed;
  }
  return removed;
}

HistorySweep::HistorySweep(std::string local_dir, int days, ClockReading now) {
  thread_ = std::thread([this, local_dir = std::move(local_dir), days, now = std::move(now)] {
    // Remains go even when no job is too old, because they contain secrets. The time is noted at
    // each submission, so that the next one can confirm it.
    (void)RemoveRemainsOfLostJobs(local_dir);
    const absl::StatusOr<int64_t> time = SeeTime(now, SeenTimeFile(local_dir));
    if (!time.ok()) LogDebug("no old job is removed", {{"why", time.status().message()}});
    if (days <= 0 || !time.ok()) return;
    (void)RemoveOldJobs(local_dir, days, *time, kJobsAtOnce, stop_);
  });
}

HistorySweep::~HistorySweep() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace tony::client
