// What a Horovod job's driver tells its executor, through files in a folder.
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

/// The files are those of core/rendezvous/plan_text.h. Drivers of users write the plan as TonY's
/// do: bit by bit, so what cannot be read may be half a file, and gets a moment to become a whole
/// one. Not thread safe: owned by the event loop.
class DriverFiles {
 public:
  struct Callbacks {
    /// Each new plan of ranks, whose `loopback` nobody has said. InvalidArgument – the file makes
    /// no sense.
    std::function<void(const absl::StatusOr<core::RendezvousPlan>&)> on_plan;
    /// For whom processes wait; an empty sentence: for nobody (any longer).
    std::function<void(const core::RendezvousWait& wait)> on_wait;
    /// It lives; only tony's own says so.
    std::function<void()> on_beat;
  };

  /// Makes `folder` empty, and watches it. Codes of FolderWatcher; errno codes.
  static absl::StatusOr<std::unique_ptr<DriverFiles>> Watch(EventLoop& loop,
                                                            const std::string& folder,
                                                            Callbacks callbacks);

  /// Looks at what has changed, without waiting to be told so.
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
  std::unique_ptr<EventLoop::Handle> patience_;  ///< with a plan that cannot be read
  std::unique_ptr<EventLoop::Handle> watch_;     ///< last: it uses the rest
};

}  // namespace tony::executor
