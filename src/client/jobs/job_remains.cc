// Locks alone decide which jobs are lost: am.guard (the client or keeper), am.lock (the
// ApplicationMaster) and the job's share in the ledger (the executors). The kernel frees each when
// its last holder is gone, so no stale process id can mislead.
#include "client/jobs/job_remains.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "backend/local/ledger.h"
#include "backend/local/ledger_choice.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_handle.h"
#include "os/files/folder_trust.h"
#include "storage/job_proof.h"

namespace tony::client {
namespace {

bool HasRemains(const storage::JobFolder& folder) {
  const std::vector<std::string> paths = folder.transient();
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code unseen;
    return std::filesystem::exists(path, unseen);
  });
}

/// Ids of jobs with remains. For tidy jobs, and for folders that are no job's, only the existence
/// of files is tested.
std::vector<std::string> JobsWithRemains(const os::FolderHandle& jobs) {
  std::vector<std::string> ids;
  const absl::StatusOr<std::vector<std::string>> names = jobs.List();
  if (!names.ok()) return ids;
  for (const std::string& name : *names) {
    if (HasRemains(storage::JobFolder(jobs.PathOf(name))) && storage::IsJobFolder(jobs, name)) {
      ids.push_back(name);
    }
  }
  return ids;
}

}  // namespace

absl::StatusOr<bool> HoldsShare(const storage::JobFolder& folder, const std::string& job_id) {
  const backend::Ledger::Options recorded = backend::RecordedLedger(folder);
  // A ledger that was removed, or that a moved job's folder names by its old path, has no claims.
  // The job could never be removed if that were an error.
  std::error_code error;
  if (!std::filesystem::exists(recorded.folder, error) && !error) return false;
  TONY_ASSIGN_OR_RETURN(const backend::Ledger ledger, backend::Ledger::Open(recorded));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger.Claims());
  return std::any_of(claims.begin(), claims.end(), [&](const core::Claim& claim) {
    return claim.job_id == job_id && claim.user.empty();
  });
}

absl::Status RemoveRemains(const storage::JobFolder& folder) {
  absl::Status first;
  for (const std::string& path : folder.transient()) first.Update(os::RemoveTree(path));
  return first;
}

int RemoveRemainsOfLostJobs(const std::string& local_dir) {
  const absl::StatusOr<os::FolderHandle> jobs = os::OpenOwnFolder(storage::JobsFolder(local_dir));
  if (!jobs.ok()) return 0;
  int removed = 0;
  for (const std::string& id : JobsWithRemains(*jobs)) {
    const storage::JobFolder folder(jobs->PathOf(id));
    const absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder.am_guard());
    if (!guard.ok()) {
      LogDebug("the remains of a job stay: it has a client", {{"job", id}});
      continue;
    }
    const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
    if (!lock.ok()) continue;
    const absl::StatusOr<bool> alive = HoldsShare(folder, id);
    if (!alive.ok() || *alive || !RemoveRemains(folder).ok()) continue;
    LogDebug("the remains of a lost job are removed", {{"job", id}});
    ++removed;
  }
  return removed;
}

int RemoveLostStaging(const std::string& staging) {
  const absl::StatusOr<os::FolderHandle> folder = os::OpenOwnFolder(staging);
  if (!folder.ok()) return 0;
  const absl::StatusOr<std::vector<std::string>> names = folder->List();
  if (!names.ok()) return 0;
  int removed = 0;
  for (const std::string& name : *names) {
    // A name that begins with a dot belongs to a folder whose guard may not be locked yet. It is
    // empty, so it can stay.
    if (absl::StartsWith(name, ".") || !storage::IsJobFolder(*folder, name)) continue;
    const absl::StatusOr<os::UniqueFd> guard =
        os::LockFile(storage::JobFolder(folder->PathOf(name)).am_guard());
    if (guard.ok() && storage::RemoveJobFolder(*folder, name).ok()) ++removed;
  }
  return removed;
}

}  // namespace tony::client
