// Locks decide whether a job lives, as in job_remains.cc; its events do not, since a lost job has
// no verdict.
#include "client/jobs/remove_job.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/jobs/job_remains.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "os/files/folder_handle.h"
#include "os/files/folder_trust.h"
#include "os/files/unique_fd.h"
#include "storage/job_proof.h"

namespace tony::client {
namespace {

/// A block of st_blocks, whatever the file system's block size is.
constexpr int64_t kBlockBytes = 512;

absl::Status Runs(const std::string& id) {
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", id, " runs, and a running job is not removed; tony kill ", id, " ends it"));
}

/// Whether the job has files in its default checkpoint folder. One that cannot be read counts.
bool HasCheckpoints(const storage::JobFolder& folder) {
  std::error_code error;
  const bool exists = std::filesystem::exists(folder.checkpoints(), error);
  return error || (exists && (!std::filesystem::is_empty(folder.checkpoints(), error) || error));
}

}  // namespace

absl::Status RemoveJob(const storage::JobFolder& folder, bool checkpoints) {
  const std::string local_dir = storage::LocalDir(folder);
  const std::string id = folder.root().substr(folder.root().rfind('/') + 1);
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle jobs,
                        os::OpenOwnFolder(storage::JobsFolder(local_dir)));
  // This check comes before the locks: a lock file that LockFile() makes would be proof of a job.
  if (!storage::IsJobFolder(jobs, id)) {
    return absl::NotFoundError(absl::StrCat(folder.root(), " is no job's folder, and stays"));
  }
  const absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder.am_guard());
  if (!guard.ok()) return Runs(id);
  const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
  if (!lock.ok()) return Runs(id);
  // Executors whose ApplicationMaster was killed may still be ending their tasks.
  TONY_ASSIGN_OR_RETURN(const bool tasks_live, HoldsShare(folder, id));
  if (tasks_live) return Runs(id);
  if (!checkpoints && HasCheckpoints(folder)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", id, " stays, since it has checkpoints: ", folder.checkpoints(),
                     "; --checkpoints removes them too"));
  }
  return storage::RemoveJobFolder(jobs, id);
}

int64_t DiskBytes(const std::string& path) {
  int64_t blocks = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator files(
      path, std::filesystem::directory_options::skip_permission_denied, error);
  while (!error && files != std::filesystem::recursive_directory_iterator()) {
    struct stat status {};
    if (lstat(files->path().c_str(), &status) == 0) blocks += status.st_blocks;
    files.increment(error);
  }
  return blocks * kBlockBytes;
}

std::string FormatBytes(int64_t bytes) {
  constexpr int64_t kUnit = 1024;
  if (bytes < kUnit * kUnit) return absl::StrCat((bytes + kUnit - 1) / kUnit, " KiB");
  double size = static_cast<double>(bytes) / kUnit;
  const char* name = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (size < kUnit) break;
    size /= kUnit;
    name = larger;
  }
  return absl::StrFormat("%.1f %s", size, name);
}

}  // namespace tony::client
