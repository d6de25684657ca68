// What may go, and the thread that takes it away.
#include "client/history_retention.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/job_folder.h"
#include "client/job_remains.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tony::client {
namespace {

constexpr int64_t kMillisPerDay = 24 * 3600 * int64_t{1000};
/// Of one submission; the next one goes on.
constexpr int kJobsAtOnce = 1000;

int64_t Millis(const timespec& time) {
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

/// Names and times of our own folders that were not changed since `limit`, oldest first. Asks for
/// nothing but each folder's status.
std::vector<std::pair<int64_t, std::string>> OldFolders(const std::string& jobs, int64_t limit,
                                                        const std::atomic<bool>& stop) {
  std::vector<std::pair<int64_t, std::string>> old;
  const os::UniqueFd folder(open(jobs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::error_code error;
  std::filesystem::directory_iterator entry(jobs, error);
  while (!error && !stop && entry != std::filesystem::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    struct stat status {};
    if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode) && status.st_uid == geteuid() && Millis(status.st_mtim) < limit) {
      old.emplace_back(Millis(status.st_mtim), name);
    }
    entry.increment(error);
  }
  std::sort(old.begin(), old.end());
  return old;
}

/// Removes the job unless it lives or holds checkpoints.
bool RemoveJob(const backend::JobFolder& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder.checkpoints(), error) &&
      !std::filesystem::is_empty(folder.checkpoints(), error)) {
    return false;
  }
  if (error) return false;
  const absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder.am_guard());
  const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
  return guard.ok() && lock.ok() && os::RemoveTree(folder.root()).ok();
}

}  // namespace

int RemoveOldJobs(const std::string& local_dir, int days, int64_t now_unix_millis, int most,
                  const std::atomic<bool>& stop) {
  const std::string jobs = backend::JobsFolder(local_dir);
  int removed = 0;
  for (const auto& [millis, name] :
       OldFolders(jobs, now_unix_millis - days * kMillisPerDay, stop)) {
    if (stop || removed == most) break;
    if (RemoveJob(backend::JobFolder(absl::StrCat(jobs, "/", name)))) ++removed;
  }
  return removed;
}

HistorySweep::HistorySweep(std::string local_dir, int days, int64_t now_unix_millis) {
  thread_ = std::thread([this, local_dir = std::move(local_dir), days, now_unix_millis] {
    (void)RemoveRemainsOfLostJobs(local_dir);
    if (days <= 0) return;
    (void)RemoveOldJobs(local_dir, days, now_unix_millis, kJobsAtOnce, stop_);
  });
}

HistorySweep::~HistorySweep() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace tony::client
