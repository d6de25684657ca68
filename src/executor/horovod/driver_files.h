// Reads what a Horovod job's driver tells its executor, through files in a folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/worker_hosts.h"
#include "os/files/folder_watcher.h"

namespace tony::executor {

/// The files are those of core/rendezvous/plan_text.h. A user's own driver may write the plan bit
/// by bit, as TonY's driver does. A plan that cannot be read may therefore be half a file; it gets
/// a moment to become complete. Not thread safe: owned by the event loop.
class DriverFiles {
 public:
  struct Callbacks {
    /// Called with each new plan of ranks; its `loopback` is not set. InvalidArgument – the file
    /// makes no sense.
    std::function<void(const absl::StatusOr<core::RendezvousPlan>&)> on_plan;
    /// Called with the tasks that processes wait for; an empty sentence: nobody waits (any longer).
    std::function<void(const core::RendezvousWait& wait)> on_wait;
    /// The driver is alive; only tony's own driver reports it.
    std::function<void()> on_beat;
  };

  /// Empties `folder` and watches it. The codes of FolderWatcher; errno codes.
  static absl::StatusOr<std::unique_ptr<DriverFiles>> Watch(EventLoop& loop,
                                                            const std::string& folder,
                                                            Callbacks callbacks);

  /// Reads the changed files now, without waiting for an event.
  void ReadNow() { OnFiles(); }

 private:
  DriverFiles(EventLoop& loop, std::unique_ptr<os::FolderWatcher> watcher, Callbacks callbacks);

  void OnFiles();
  void OnPlanFile(const std::string& path, const std::string& name);
  void OnWaitFile(const std::string& path);

  EventLoop& loop_;
  const Callbacks callbacks_;
  std::unique_ptr<os::FolderWatcher> watcher_;
  std::optional<core::RendezvousPlan> plan_;
  std::unique_ptr<EventLoop::Handle> patience_;  ///< runs while the plan cannot be read
  std::unique_ptr<EventLoop::Handle> watch_;     ///< last: it uses the rest
};

}  // namespace tony::executor
