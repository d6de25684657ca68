// The lock is tried with pauses instead of waited for: a process that is stopped while it holds the
// lock would otherwise stop all jobs without a word.
#include "backend/local/ledger_mutex.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/user_names.h"

namespace tony::backend {
namespace {

constexpr std::chrono::milliseconds kLongestPause{16};

absl::Status StaysLocked(const os::UniqueFd& fd, const std::string& path, Duration limit) {
  const std::string holder =
      HolderOfLock(fd.get(), os::ReadFile("/proc/locks").value_or(std::string()));
  LogInfo("the ledger stays locked by another process", {{"path", path}, {"holder", holder}});
  return absl::DeadlineExceededError(absl::StrCat(
      path, " has been locked by ", holder, " for ",
      std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(),
      " ms (tony.local.ledger-timeout-ms): is it a process of tony that was stopped?"));
}

}  // namespace

absl::StatusOr<LedgerMutex> LedgerMutex::Lock(const os::FolderHandle& folder, Duration limit) {
  // A lock belongs to an open file description, so each LedgerMutex opens one of its own.
  os::UniqueFd fd(openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return os::ErrnoError(errno, folder.path());
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (std::chrono::milliseconds pause(1);; pause = std::min(pause * 2, kLongestPause)) {
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return LedgerMutex(std::move(fd));
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return os::ErrnoError(errno, folder.path());
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return StaysLocked(fd, folder.path(), limit);
}

LedgerMutex::~LedgerMutex() {
  // Explicit unlock: a child forked in the meantime shares the open file description, so a mere
  // close would leave the mutex locked.
  if (fd_.valid()) flock(fd_.get(), LOCK_UN);
}

std::string HolderOfLock(int fd, const std::string& locks) {
  constexpr char kUnknown[] = "another process";
  struct stat info {};
  if (fstat(fd, &info) != 0) return kUnknown;
  const std::string file = absl::StrFormat("%02x:%02x:%d", major(info.st_dev), minor(info.st_dev),
                                           static_cast<int64_t>(info.st_ino));
  // A row of the table: "12: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF". Rows with "->" are of
  // processes that wait.
  for (const absl::string_view row : absl::StrSplit(locks, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(row, ' ', absl::SkipEmpty());
    int pid = 0;
    if (fields.size() < 6 || fields[1] != "FLOCK" || fields[5] != file ||
        !absl::SimpleAtoi(fields[4], &pid)) {
      continue;
    }
    struct stat process {};
    // A holder that has ended left the lock to a child, or it is in another namespace of processes.
    if (pid <= 0 || stat(absl::StrCat("/proc/", pid).c_str(), &process) != 0) return kUnknown;
    return absl::StrCat("process ", pid, " of ", os::UserName(process.st_uid));
  }
  return kUnknown;
}

}  // namespace tony::backend
