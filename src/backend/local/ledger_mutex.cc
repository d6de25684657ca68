// The lock is tried with pauses instead of waited for: a process that is stopped while it holds the
// lock would otherwise stop all jobs without a word.
#include "backend/local/ledger_mutex.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_lock.h"

namespace tony::backend {
namespace {

constexpr std::chrono::milliseconds kLongestPause{16};

absl::Status StaysLocked(const os::UniqueFd& fd, const std::string& path, Duration limit) {
  const std::string holder = os::HolderOfFolderLock(fd.get());
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

}  // namespace tony::backend
