// Which jobs are lost, by locks alone.
#include "client/job_remains.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/local/ledger.h"
#include "common/status_macros.h"
#include "os/file_lock.h"
#include "os/files.h"

namespace tony::client {
namespace {

bool HasRemains(const backend::JobFolder& folder) {
  const std::vector<std::string> paths = folder.transient();
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code unseen;
    return std::filesystem::exists(path, unseen);
  });
}

/// Ids of jobs with remains. Asks for nothing but the existence of files.
std::vector<std::string> JobsWithRemains(const std::string& jobs) {
  std::vector<std::string> ids;
  std::error_code error;
  std::filesystem::directory_iterator entry(jobs, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    if (HasRemains(backend::JobFolder(entry->path().string()))) {
      ids.push_back(entry->path().filename().string());
    }
    entry.increment(error);
  }
  return ids;
}

/// Whether the lock on the job's share is held: executors hold it as long as they live.
absl::StatusOr<bool> HoldsShare(const std::string& local_dir, const std::string& job_id) {
  TONY_ASSIGN_OR_RETURN(const backend::Ledger ledger,
                        backend::Ledger::Open(backend::LedgerFolder(local_dir)));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger.Claims());
  return std::any_of(claims.begin(), claims.end(),
                     [&](const core::Claim& claim) { return claim.job_id == job_id; });
}

}  // namespace

absl::Status RemoveRemains(const backend::JobFolder& folder) {
  absl::Status first;
  for (const std::string& path : folder.transient()) first.Update(os::RemoveTree(path));
  return first;
}

int RemoveRemainsOfLostJobs(const std::string& local_dir) {
  const std::string jobs = backend::JobsFolder(local_dir);
  int removed = 0;
  for (const std::string& id : JobsWithRemains(jobs)) {
    const backend::JobFolder folder(absl::StrCat(jobs, "/", id));
    const absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder.am_guard());
    if (!guard.ok()) continue;
    const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
    if (!lock.ok()) continue;
    const absl::StatusOr<bool> alive = HoldsShare(local_dir, id);
    if (alive.ok() && !*alive && RemoveRemains(folder).ok()) ++removed;
  }
  return removed;
}

int RemoveLostStaging(const std::string& staging) {
  int removed = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(staging, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::filesystem::path path = entry->path();
    entry.increment(error);
    // One that has not got its name yet has nothing in it, and nobody may hold its guard for now.
    if (absl::StartsWith(path.filename().string(), ".")) continue;
    const absl::StatusOr<os::UniqueFd> guard =
        os::LockFile(backend::JobFolder(path.string()).am_guard());
    if (guard.ok() && os::RemoveTree(path.string()).ok()) ++removed;
  }
  return removed;
}

}  // namespace tony::client
