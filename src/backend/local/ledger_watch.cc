// inotify on the ledger's folder, debounced by a short settling time and backed by a timer.
#include "backend/local/ledger_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony::backend {
namespace {

// Far longer than the kernel takes from announcing a close to dropping the lock.
constexpr std::chrono::milliseconds kSettle(2);
constexpr std::chrono::seconds kSafetyInterval(1);

// Watched events: claims replaced (by rename), claims removed, and locks released. Only lock
// holders open lock files for writing. ClaimFolder opens others' read-only, which these events
// leave out: otherwise each look at the ledger would wake all other waiting jobs.
constexpr uint32_t kEvents = IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE;

}  // namespace

LedgerWatch::LedgerWatch(EventLoop& loop, const std::vector<std::string>& folders,
                         std::function<void()> changed)
    : loop_(loop),
      changed_(std::move(changed)),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  for (const std::string& folder : folders) {
    if (inotify_.valid() && ::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents) >= 0) {
      continue;
    }
    LogInfo(absl::StrCat("no inotify on ", folder, " (", std::strerror(errno),
                         "): a free place is noticed after up to a second"));
  }
  if (inotify_.valid()) readable_ = loop_.WatchReadable(inotify_.get(), [this] { OnReadable(); });
  ArmSafetyCheck();
}

void LedgerWatch::OnReadable() {
  char events[4096];
  while (::read(inotify_.get(), events, sizeof(events)) > 0) {
  }
  if (settling_) return;
  settling_ = true;
  soon_ = loop_.After(kSettle, [this] {
    settling_ = false;
    Report();
  });
}

void LedgerWatch::ArmSafetyCheck() {
  safety_ = loop_.After(kSafetyInterval, [this] {
    ArmSafetyCheck();
    Report();
  });
}

void LedgerWatch::Report() {
  // Copied, because the call may destroy this object.
  const std::function<void()> changed = changed_;
  changed();
}

}  // namespace tony::backend
