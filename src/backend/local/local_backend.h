// Provides containers on this machine as processes, admitted through a ledger that this user's
// jobs, or all users' jobs, share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/image/image_containers.h"
#include "backend/local/ledger.h"
#include "backend/local/ledger_watch.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/capacity.h"
#include "os/processes/subprocess.h"
#include "storage/job_folder.h"

namespace tony::backend {

class ExecutorFinder;

/// Parameters of a LocalBackend. Not thread safe (plain data).
struct LocalBackendOptions {
  std::string job_id;
  storage::JobFolder job_folder{""};
  std::string executor_path;  ///< absolute path of tony-executor
  /// Starts an executor as a child of this process.
  std::function<absl::StatusOr<os::Subprocess>(const os::SubprocessRequest&)> start_executor =
      os::Subprocess::Start;
  /// The children of this process that are not executors of this job. Set it only if this process
  /// is a subreaper and knows all of its children: the backend then also finds, by descent,
  /// processes that outlived both an executor and its keeper.
  std::function<std::set<pid_t>()> other_children;
  std::vector<std::string> environment;  ///< "NAME=value", given to each executor before the
                                         ///< variables of its LaunchContext
  std::vector<int> inherited_fds;        ///< for each executor, after its claim in the ledger
  /// Runs the executors in containers of images. Null: the job has no images, and each executor is
  /// started by start_executor.
  std::shared_ptr<ImageContainers> images;
  std::string host_id;      ///< identifies the current boot of this machine
  core::Capacity capacity;  ///< see ProbeCapacity()
  Ledger::Options ledger;
  Duration kill_timeout =
      std::chrono::seconds(5);  ///< how long the destructor waits for executors to end
};

/// Runs each container as a child process in a slot that the ledger has admitted. Not thread safe:
/// owned by the event loop.
///
/// After the loss of an ApplicationMaster the next one finds the running executors with
/// ExecutorFinder, by the identities that OnExecutorStarted() had noted, and finds their resources
/// in the ledger. These executors are not its children, so their exit status stays unknown.
///
/// Each container that the ledger admitted leaves a slot. The slot is kept until it is given back
/// or this object is destroyed: when its container has ended, the job's next request for the same
/// resources gets the slot at once.
///
/// An executor runs in JobFolder::container(id) and writes its output to logs()/NAME/executor.log.
/// It finds its secret by --credentials=FILE and leads its own session. It inherits the job's claim
/// in the ledger as descriptor 3: as long as the executor, or any process to which it passes that
/// descriptor, lives, no other job gets the resources that this job holds, even if the
/// ApplicationMaster is gone.
///
/// With an image, the child process is the client of a container engine, and the executor runs in
/// the container. A client that did not end well may leave its container behind, so the container
/// is removed before its end is reported.
class LocalBackend : public core::ClusterBackend {
 public:
  /// `loop` and `listener` must outlive this object. The ledger is not touched before the first
  /// Request().
  LocalBackend(EventLoop& loop, LocalBackendOptions options, Listener& listener);
  /// Kills every container, waits at most kill_timeout until all are gone, and then gives back what
  /// the ledger granted. No event follows. Must not run from within a listener's call.
  ~LocalBackend() override;
  LocalBackend(const LocalBackend&) = delete;
  LocalBackend& operator=(const LocalBackend&) = delete;

  void Reclaim(const std::vector<core::Container>& containers) override;
  void Request(const std::vector<core::ContainerRequest>& requests) override;
  void Launch(const std::string& container_id, const core::LaunchContext& context) override;
  void Kill(const std::string& container_id) override;
  void GiveBackSpare() override;
  void CancelRequests() override;

 private:
  enum class State { kGranted, kRunning, kFailedToStart };
  struct Executor;
  struct LiveContainer {
    core::Container container;
    std::optional<size_t>
        slot;  ///< nullopt: the reclaimed container is gone and others may have its resources
    State state = State::kGranted;
    bool killed = false;
    std::unique_ptr<Executor> executor;  ///< set while the container runs
  };
  struct Slot {
    core::Grant grant;
    bool taken = false;
  };
  using Requests = std::vector<core::ContainerRequest>;

  /// Runs `function` on the loop, after the present call, unless this object is destroyed by then.
  void Later(std::function<void()> function);

  // Requests are served one after the other.
  void Advance();
  Requests MissingSlots(const Requests& requests) const;
  std::vector<size_t> SpareSlots() const;
  void Forget(size_t slot);
  absl::Status OpenClaim();
  absl::StatusOr<core::Admission> Ask(const Requests& missing);
  void Grant(const Requests& requests);
  core::Container TakeSlot(const core::ContainerRequest& request);
  void Wait(const core::MustWait& reason);
  /// The wait for a killed container that has not ended yet; nullopt if there is no such container.
  std::optional<core::MustWait> AwaitedEnd() const;
  void Refuse(bool never_fits, const std::string& sentence);
  void StopWaiting();

  // Containers.
  std::unique_ptr<Executor> TakeOver(const core::Container& container, ExecutorFinder& executors);
  void TellStarted(const std::string& container_id, const core::ExecutorProcess& process);
  void Watch(Executor& executor, const std::string& container_id);
  size_t SlotOf(const core::Container& container);
  void LaunchNext();
  void LaunchNow(const std::string& container_id, const core::LaunchContext& context);
  absl::Status Start(LiveContainer& live, const core::LaunchContext& context);
  absl::StatusOr<os::Subprocess> StartExecutor(const core::Container& container,
                                               os::SubprocessRequest request,
                                               const core::LaunchContext& context,
                                               const os::FolderHandle& secrets);
  void OnExecutorReadable(const std::string& container_id);
  /// Ends the processes that a killed executor may have left behind.
  void EndRemains(const std::string& container_id) const;
  /// Does the same and then reports the end; in an image also removes the engine's container.
  void EndWithRemains(const std::string& container_id, const core::ContainerEnd& end);
  void End(const std::string& container_id, const core::ContainerEnd& end);

  EventLoop& loop_;
  const LocalBackendOptions options_;
  Listener& listener_;
  std::optional<Ledger> ledger_;  ///< set with claim_
  std::unique_ptr<LedgerClaim> claim_;
  std::unique_ptr<LedgerWatch> watch_;  ///< set while a request waits
  std::string waiting_sentence_;        ///< the last sentence that was told
  std::deque<Requests> requests_;
  std::vector<Slot> slots_;
  std::map<std::string, LiveContainer> containers_;
  std::deque<std::pair<std::string, core::LaunchContext>>
      launches_;         ///< not started yet, oldest first
  int last_number_ = 0;  ///< number in the newest container id
  Lifetime lifetime_;
};

}  // namespace tony::backend
