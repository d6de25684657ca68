// Containers on this machine: processes, admitted through the ledger that all of the user's jobs
// share.
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
#include "backend/local/ledger.h"
#include "backend/local/ledger_watch.h"
#include "common/event_loop.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/capacity.h"
#include "os/processes/subprocess.h"
#include "storage/job_folder.h"

namespace tony::backend {

class ExecutorFinder;

/// What a LocalBackend is made with. Not thread safe (plain data).
struct LocalBackendOptions {
  std::string job_id;
  storage::JobFolder job_folder{""};
  std::string ledger_folder;
  std::string executor_path;  ///< of tony-executor; absolute
  /// Starts an executor as a child of this process.
  std::function<absl::StatusOr<os::Subprocess>(const os::SubprocessRequest&)> start_executor =
      os::Subprocess::Start;
  /// This process's children that are no executors of this job, where it knows them all and is a
  /// subreaper: then also what has outlived an executor and its keeper together is found by its
  /// descent.
  std::function<std::set<pid_t>()> other_children;
  std::vector<std::string>
      environment;          ///< "NAME=value", what each executor has before its LaunchContext's
  std::string host_id;      ///< of this boot of this machine
  core::Capacity capacity;  ///< see ProbeCapacity()
  Duration ledger_timeout = std::chrono::seconds(10);  ///< see Ledger::Open()
  Duration kill_timeout = std::chrono::seconds(5);     ///< for executors to end, in the destructor
};

/// Not thread safe: owned by the event loop.
///
/// After the loss of an ApplicationMaster the next one finds the executors as ExecutorFinder says,
/// by what OnExecutorStarted() had noted, and what they hold in the ledger; they are not its
/// children, so how they ended nobody learns.
///
/// Each container that the ledger admitted leaves a slot, kept until this object is destroyed or it
/// is given back: when the container has ended, the job's next request for the same resources is
/// granted the slot at once.
///
/// An executor runs in JobFolder::container(id), writes its output to logs()/NAME/executor.log,
/// finds its secret by --credentials=FILE, leads a session of its own, and inherits the job's claim
/// in the ledger as descriptor 3: as long as it or anyone it passes that descriptor on to lives,
/// nobody else gets what the job holds, even if the ApplicationMaster is gone.
class LocalBackend : public core::ClusterBackend {
 public:
  /// `loop` and `listener` outlive this object. The ledger is not touched before the first
  /// Request().
  LocalBackend(EventLoop& loop, LocalBackendOptions options, Listener& listener);
  /// Kills every container, waits until each is gone, kill_timeout at most, and then gives back
  /// what the ledger granted. No event follows. Not from within a listener's call.
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
    std::optional<size_t> slot;  ///< none: it was reclaimed and is gone, others may have it
    State state = State::kGranted;
    bool killed = false;
    std::unique_ptr<Executor> executor;  ///< of a running one
  };
  struct Slot {
    core::Grant grant;
    bool taken = false;
  };
  using Requests = std::vector<core::ContainerRequest>;

  /// Runs `function` on the loop, outside of the present call, unless this object is gone by then.
  void Later(std::function<void()> function);

  // Requests, one after the other.
  void Advance();
  Requests MissingSlots(const Requests& requests) const;
  std::vector<size_t> SpareSlots() const;
  void Forget(size_t slot);
  absl::Status OpenClaim();
  absl::StatusOr<core::Admission> Ask(const Requests& missing);
  void Grant(const Requests& requests);
  core::Container TakeSlot(const core::ContainerRequest& request);
  void Wait(const core::MustWait& reason);
  /// Nothing where no container is to end that was killed.
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
  void OnExecutorReadable(const std::string& container_id);
  /// Ends what an executor that was killed may have left.
  void EndRemains(const std::string& container_id) const;
  void End(const std::string& container_id, const core::ContainerEnd& end);

  EventLoop& loop_;
  const LocalBackendOptions options_;
  Listener& listener_;
  std::unique_ptr<LedgerClaim> claim_;
  std::unique_ptr<LedgerWatch> watch_;  ///< while waiting
  std::string waiting_sentence_;        ///< the last one told
  std::deque<Requests> requests_;
  std::vector<Slot> slots_;
  std::map<std::string, LiveContainer> containers_;
  std::deque<std::pair<std::string, core::LaunchContext>> launches_;  ///< to come
  int last_number_ = 0;                                               ///< of a container's id
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony::backend
