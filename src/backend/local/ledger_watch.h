// Tells a waiting job that the ledger may have changed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// Calls `changed` on the loop soon after a claim was replaced, removed, or released by a dying
/// process, and in any case once a second. The timer is needed for two reasons: the kernel
/// announces the close of a file just before it drops the file's lock, so an announcement may come
/// too early; and without inotify there are no announcements. `changed` may destroy the watch. Not
/// thread safe: owned by the event loop.
class LedgerWatch {
 public:
  /// `folders`: see Ledger::WatchedFolders(). A change in another folder is noticed by the timer.
  LedgerWatch(EventLoop& loop, const std::vector<std::string>& folders,
              std::function<void()> changed);
  LedgerWatch(const LedgerWatch&) = delete;
  LedgerWatch& operator=(const LedgerWatch&) = delete;

 private:
  void OnReadable();
  void ArmSafetyCheck();
  void Report();

  EventLoop& loop_;
  std::function<void()> changed_;
  os::UniqueFd inotify_;
  std::unique_ptr<EventLoop::Handle> readable_;
  bool settling_ = false;  ///< soon_ is armed, so further announcements add nothing
  std::unique_ptr<EventLoop::Handle> soon_;
  std::unique_ptr<EventLoop::Handle> safety_;
};

}  // namespace tony::backend
