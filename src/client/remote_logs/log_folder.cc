// Each folder holds a lock file that its process keeps locked. A folder with an unlocked lock file
// was left by a killed process and is removed.
#include "client/remote_logs/log_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"

namespace tony::client {
namespace {

constexpr char kName[] = "tony-logs-";
constexpr char kLock[] = "/in-use";

/// Whether `path` is of the type `type` and belongs to the user. Only its owner can write into such
/// a folder.
bool IsOurs(const std::string& path, mode_t type) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == type &&
         status.st_uid == geteuid();
}

/// Whether `name` is "tony-logs-" and the six letters and digits that mkdtemp() appends.
bool IsOurName(const std::string& name) {
  constexpr size_t kRandom = 6;
  return absl::StartsWith(name, kName) && name.size() == sizeof kName - 1 + kRandom &&
         std::all_of(name.end() - kRandom, name.end(), absl::ascii_isalnum);
}

/// Removes folders left by killed processes. Folders of other users are left alone: this process
/// must not look into them.
void RemoveAbandoned(const std::string& parent) {
  std::error_code error;
  std::filesystem::directory_iterator entry(parent, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string path = entry->path().string();
    const std::string lock = path + kLock;
    if (IsOurName(entry->path().filename().string()) && IsOurs(path, S_IFDIR) &&
        IsOurs(lock, S_IFREG) && !os::IsFileLocked(lock)) {
      (void)os::RemoveTree(path);
    }
    entry.increment(error);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogFolder>> LogFolder::Make(const std::string& parent) {
  // Copies are written by path, so nobody else may be able to replace a folder on it.
  TONY_RETURN_IF_ERROR(Annotate(os::CheckFolder(parent), "copies of logs go to TMPDIR"));
  RemoveAbandoned(parent);
  // The folder gets its final name only after its lock is held. Otherwise another process could
  // take it for an abandoned one and remove it.
  std::string hidden = absl::StrCat(parent, "/.", kName, "XXXXXX");
  // chmod(): the umask may have taken permissions away from the owner.
  if (mkdtemp(hidden.data()) == nullptr || chmod(hidden.c_str(), 0700) != 0) {
    return os::ErrnoError(errno, hidden);
  }
  TONY_ASSIGN_OR_RETURN(os::UniqueFd lock, os::LockFile(hidden + kLock));
  const std::string path =
      absl::StrCat(parent, "/", hidden.substr(hidden.rfind('/') + sizeof "/." - 1));
  if (rename(hidden.c_str(), path.c_str()) != 0) return os::ErrnoError(errno, hidden);
  return std::unique_ptr<LogFolder>(new LogFolder(path, std::move(lock)));
}

LogFolder::~LogFolder() { (void)os::RemoveTree(path_); }

}  // namespace tony::client
