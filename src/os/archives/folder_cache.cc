// A flock() lets one caller fill at a time, and a rename() publishes the filled folder.
#include "os/archives/folder_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::os {
namespace {

constexpr Duration kShortestPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::milliseconds(20);

bool IsFolder(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::Status CheckKey(const std::string& key) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (!key.empty() && key[0] != '.' && key.find_first_not_of(kAllowed) == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("folder cache: the key ", Quoted(key),
                   " must be letters, digits, '_', '-' and '.', not beginning with '.'"));
}

/// The right to fill the folder; the kernel takes it back when the process ends. Not thread safe.
class FillLock {
 public:
  static absl::StatusOr<FillLock> Open(const std::string& path) {
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(open(path.c_str(), flags));
    if (!fd.valid() && errno == ENOENT) {
      const absl::Status created = CreateFileExclusively(path, "");
      if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
      fd.Reset(open(path.c_str(), flags));
    }
    if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(path)));
    return FillLock(std::move(fd), path);
  }

  FillLock(FillLock&&) = default;
  ~FillLock() {
    // Closing the descriptor does not release the lock if a child that was forked meanwhile has a
    // copy.
    if (fd_.valid()) flock(fd_.get(), LOCK_UN);
  }

  /// Returns true once the lock is held.
  absl::StatusOr<bool> Try() {
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) {
      // The process id is for the messages of waiting callers; if it cannot be written, they say
      // less.
      const std::string pid = absl::StrCat(getpid(), "\n");
      if (ftruncate(fd_.get(), 0) == 0) (void)!pwrite(fd_.get(), pid.data(), pid.size(), 0);
      return true;
    }
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    return ErrnoError(errno, absl::StrCat("cannot lock ", Quoted(path_)));
  }

  /// The lock's holder as "process 123", as far as known.
  std::string Holder() const {
    const auto pid = ReadFile(path_);
    const std::string digits = pid.ok() ? std::string(absl::StripAsciiWhitespace(*pid)) : "";
    return digits.empty() ? "another process" : absl::StrCat("process ", digits);
  }

 private:
  FillLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

absl::Status FlushFileSystem(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot flush ", Quoted(folder)));
  }
  return absl::OkStatus();
}

absl::Status FillAndPublish(const std::string& final_path, Durability durability,
                            const std::function<absl::Status(const std::string&)>& fill) {
  const std::string filling = absl::StrCat(final_path, ".filling");
  TONY_RETURN_IF_ERROR(RemoveTree(filling));  // left by a filler that died
  TONY_RETURN_IF_ERROR(MakeFolders(filling));
  absl::Status status = fill(filling);
  if (status.ok() && durability == Durability::kSynced) status = FlushFileSystem(filling);
  if (status.ok() && rename(filling.c_str(), final_path.c_str()) != 0) {
    status = ErrnoError(errno, absl::StrCat("cannot publish ", Quoted(final_path)));
  }
  if (status.ok()) return status;
  if (const absl::Status removed = RemoveTree(filling); !removed.ok()) {
    return Annotate(status, absl::StrCat("(and ", std::string(removed.message()), ")"));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::string> UnpackOnce(
    const std::string& cache_folder, const std::string& key, Duration wait_limit,
    const std::function<absl::Status(const std::string& folder)>& fill, Durability durability) {
  TONY_RETURN_IF_ERROR(CheckKey(key));
  const std::string final_path = absl::StrCat(cache_folder, "/", key);
  if (IsFolder(final_path)) return final_path;
  TONY_RETURN_IF_ERROR(MakeFolders(cache_folder));
  TONY_ASSIGN_OR_RETURN(FillLock lock, FillLock::Open(absl::StrCat(final_path, ".lock")));
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  Duration pause = kShortestPause;
  while (true) {
    TONY_ASSIGN_OR_RETURN(const bool locked, lock.Try());
    // The folder is looked at again after each attempt: the last holder of the lock may just have
    // published it.
    if (IsFolder(final_path)) return final_path;
    if (locked) break;
    if (pause == kShortestPause) {
      LogInfo("another process fills a folder: waiting", {{"key", key}, {"holder", lock.Holder()}});
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "waited ", std::chrono::duration_cast<std::chrono::milliseconds>(wait_limit).count(),
          " ms for ", lock.Holder(), " to fill ", Quoted(final_path),
          "; if it hangs, end it: the folder is then filled anew"));
    }
    // Polling with a growing pause: flock() has no deadline, and a signal that interrupts it would
    // reach the whole process.
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  TONY_RETURN_IF_ERROR(FillAndPublish(final_path, durability, fill));
  return final_path;
}

}  // namespace tony::os
