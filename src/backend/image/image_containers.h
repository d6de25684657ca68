// Starts the executors of one job in containers of images, and removes what is left of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/image/engine.h"
#include "backend/image/engine_run.h"
#include "backend/image/image_runtime.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/ports/cluster_backend.h"
#include "jobfile/job/image_settings.h"
#include "os/files/folder_handle.h"
#include "os/processes/exit_status.h"
#include "os/processes/subprocess.h"
#include "storage/job_folder.h"

namespace tony::backend {

/// The executor runs inside the container, as on YARN: so containment, signals, exit statuses, logs
/// and the memory limit are those of a task without an image, whatever the engine
/// (docs/design/images.md). The engine's client is the child process that stands for it here. An
/// engine whose client was killed may go on with the container; Remove() ends both. Not thread
/// safe: owned by the event loop.
class ImageContainers {
 public:
  struct Options {
    Engine engine;
    ImageRuntime runtime;
    jobfile::ImageSettings settings;
    storage::JobFolder job_folder{""};
    std::vector<std::string> writable_folders;  ///< further folders that the tasks write to
    std::string user;                           ///< the name of the job's user
    Duration remove_timeout = std::chrono::seconds(30);  ///< for one Remove()
  };

  /// `loop` must outlive this object.
  ImageContainers(EventLoop& loop, Options options);
  ~ImageContainers();
  ImageContainers(const ImageContainers&) = delete;
  ImageContainers& operator=(const ImageContainers&) = delete;

  /// Starts `executor`, whose first argument is left out, in a container of the image of the
  /// container's type. `executor.environment`: variables in addition to the image's. They go into a
  /// file in `secrets` that the executor reads, because an engine shows its own arguments and
  /// variables to others. The codes of os::Subprocess::Start() and of
  /// os::FolderHandle::ReplaceFile().
  absl::StatusOr<os::Subprocess> Start(const core::Container& container,
                                       os::SubprocessRequest executor,
                                       const os::FolderHandle& secrets);

  /// The end of a container whose engine's client was killed, could not run it or lost its monitor;
  /// `status` is the client's, and its complaint is at the end of the log at `log_path`. Nothing:
  /// the status is the executor's.
  std::optional<core::ContainerEnd> EngineEnd(const os::ExitStatus& status,
                                              const std::string& log_path) const;
  /// The executor's own status from the client's, which has no signals.
  static os::ExitStatus ExecutorStatus(const os::ExitStatus& status);

  /// Kills the container with every process in it, and removes it; none is fine, too. `done`
  /// follows when the engine has answered, or did not answer in time, which is logged.
  void Remove(const std::string& container_id, std::function<void()> done);
  /// The same for several containers at once; blocks, at most `limit`.
  void RemoveNow(const std::vector<std::string>& container_ids, Duration limit) const;

 private:
  struct Removal;

  EngineRun RunOf(const core::Container& container, const os::SubprocessRequest& executor) const;
  absl::StatusOr<os::Subprocess> StartRemoval(const std::string& container_id) const;
  /// Called when the engine has answered. True: it has failed, and is asked again.
  bool RetryRemoval(const std::string& container_id, Removal& removal);
  void WatchRemoval(const std::string& container_id, Removal& removal);
  void FinishRemoval(const std::string& container_id, bool in_time);

  EventLoop& loop_;
  const Options options_;
  std::map<std::string, std::unique_ptr<Removal>> removals_;  ///< by container id
  std::unique_ptr<EventLoop::Handle> child_watch_;
  Lifetime lifetime_;
};

}  // namespace tony::backend
