// Old jobs are removed from this folder without asking, so a user who names a folder of their own
// by mistake must be refused. The marker makes the check cheap; only a folder without it is
// searched for foreign files.
#include "client/jobs/local_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/local/claim_folder.h"
#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "storage/job_folder.h"
#include "storage/job_proof.h"

namespace tony::client {
namespace {

constexpr char kMarker[] = ".tony-folder";
constexpr char kMarkerText[] =
    "tony keeps its jobs in this folder (tony.local.dir), and removes old ones from it.\n";
constexpr char kSeenTime[] = "clock.json";
constexpr char kYarnFolder[] = "yarn";

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Whether `name` still exists: running jobs make and remove files while the folder is listed.
bool IsStillThere(const os::FolderHandle& folder, const std::string& name) {
  struct stat info;
  return fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

/// The path of the first entry of `folder` for which `is_own` does not hold; empty: there is none.
template <typename IsOwn>
absl::StatusOr<std::string> FirstForeign(const os::FolderHandle& folder, const IsOwn& is_own) {
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> names, folder.List());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!is_own(name) && IsStillThere(folder, name)) return folder.PathOf(name);
  }
  return "";
}

/// Whether `name` may be a job. A folder that may not be opened, for example of a job that ran as
/// root, counts as a job by its name alone. This does not allow its removal.
bool MayBeJob(const os::FolderHandle& jobs, const std::string& name) {
  if (storage::IsJobOrItsRest(jobs, name)) return true;
  return storage::IsJobName(name) && absl::IsPermissionDenied(jobs.Open(name).status());
}

/// Whether `name` belongs to the cluster's folder "yarn", which is here by default when the
/// cluster's file system is a disk shared by all nodes.
bool IsYarnFolder(const std::string& name) {
  return name == backend::kJobsFolder || name == backend::kCacheFolder || name == "used";
}

/// Whether an earlier version may have put `name` into `folder`, a sub-folder that it made itself.
bool IsOwn(const std::string& folder_name, const os::FolderHandle& folder,
           const std::string& name) {
  if (folder_name == NameOf(storage::LedgerFolder(""))) {
    return backend::ClaimFolder::IsOwnFile(folder, name);
  }
  if (folder_name == kYarnFolder) return IsYarnFolder(name);
  const bool jobs = folder_name == NameOf(storage::JobsFolder("")) ||
                    folder_name == NameOf(storage::StagingFolder(""));
  return jobs && MayBeJob(folder, name);
}

bool IsOwnFolderName(const std::string& name) {
  return name == NameOf(storage::JobsFolder("")) || name == NameOf(storage::StagingFolder("")) ||
         name == NameOf(storage::LedgerFolder("")) || name == kYarnFolder;
}

/// The path of an entry in `local` that no version of tony has put there; empty: there is none.
absl::StatusOr<std::string> FindForeign(const os::FolderHandle& local) {
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> names, local.List());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!IsOwnFolderName(name)) {
      if (IsStillThere(local, name)) return local.PathOf(name);
      continue;
    }
    TONY_ASSIGN_OR_RETURN(const os::FolderHandle folder, local.Open(name));
    TONY_ASSIGN_OR_RETURN(const std::string foreign,
                          FirstForeign(folder, [&](const std::string& inside) {
                            return IsOwn(name, folder, inside);
                          }));
    if (!foreign.empty()) return foreign;
  }
  return "";
}

absl::Status MakeTonys(const os::FolderHandle& local) {
  TONY_ASSIGN_OR_RETURN(const std::string foreign, FindForeign(local));
  // Another submission may have marked the folder meanwhile, and have put its files into it. So the
  // marker is tested after the search, and before what the search found counts.
  if (local.HasOwnFile(kMarker)) return absl::OkStatus();
  if (!foreign.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        os::Quoted(local.path()), " has something in it that is not tony's, ", os::Quoted(foreign),
        ", and what is old in tony's folder is removed: set tony.local.dir to a new or an empty "
        "folder, which is then tony's alone"));
  }
  const absl::Status made = local.CreateFile(kMarker, kMarkerText);
  return absl::IsAlreadyExists(made) && local.HasOwnFile(kMarker) ? absl::OkStatus() : made;
}

}  // namespace

absl::StatusOr<os::FolderHandle> OpenLocalFolder(const std::string& path) {
  absl::StatusOr<os::FolderHandle> local = os::OpenOrMakeOwnFolder(path);
  if (!local.ok()) return Annotate(local.status(), "tony.local.dir");
  if (!local->HasOwnFile(kMarker)) TONY_RETURN_IF_ERROR(MakeTonys(*local));
  return local;
}

std::string SeenTimeFile(const std::string& local_dir) {
  return absl::StrCat(local_dir, "/", kSeenTime);
}

}  // namespace tony::client
