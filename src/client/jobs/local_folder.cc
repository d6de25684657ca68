// A marker, and what a folder without one may have in it.
#include "client/jobs/local_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/local/ledger.h"
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

/// Jobs that run make and remove files meanwhile.
bool IsStillThere(const os::FolderHandle& folder, const std::string& name) {
  struct stat info;
  return fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

/// The path of the first thing in a folder for which `is_own` does not hold; empty: there is none.
template <typename IsOwn>
absl::StatusOr<std::string> FirstForeign(const os::FolderHandle& folder, const IsOwn& is_own) {
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> names, folder.List());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!is_own(name) && IsStillThere(folder, name)) return folder.PathOf(name);
  }
  return "";
}

/// One that cannot be looked into is taken for one by its name: of a job that ran as root, say. It
/// does not follow that it may be removed.
bool MayBeJob(const os::FolderHandle& jobs, const std::string& name) {
  if (storage::IsJobOrItsRest(jobs, name)) return true;
  return storage::IsJobName(name) && absl::IsPermissionDenied(jobs.Open(name).status());
}

/// What is kept for a cluster whose file system is a disk of all nodes lies here by default.
bool IsYarnFolder(const std::string& name) {
  return name == backend::kJobsFolder || name == backend::kCacheFolder || name == "used";
}

/// Whether an earlier version may have put `name` into `folder`, which it has made in its own.
bool IsOwn(const std::string& folder_name, const os::FolderHandle& folder,
           const std::string& name) {
  if (folder_name == NameOf(storage::LedgerFolder(""))) {
    return backend::Ledger::IsOwnFile(folder, name);
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

/// The path of something in `local` that no version of tony has put there; empty: there is none.
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
  // Another submission may have made the folder tony's meanwhile.
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
