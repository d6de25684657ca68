// The parts of a Horovod job's task besides its program: the driver's files, or the connection to
// the driver.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "core/runtime/runtime.h"
#include "executor/horovod/driver_files.h"
#include "executor/horovod/driver_watch.h"
#include "executor/horovod/interface_finder.h"
#include "executor/horovod/rendezvous_replica.h"
#include "rpc/tunnel/tunnel_end.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// How to start the program.
struct HorovodStart {
  std::string command;                     ///< for `bash -c`
  std::string driver_output_folder;        ///< of the driver; otherwise empty
  std::optional<core::HorovodSlot> place;  ///< place of one of Horovod's processes
};

/// 1. The driver is tony's own, or the user's command. Its plan and the tasks that processes wait
///    for are sent to the ApplicationMaster. DriverWatch watches tony's own driver.
/// 2. A process on the driver's machine speaks with the driver itself, at 127.0.0.1. On other
///    machines a replica stands in for the driver, so that no plain HTTP crosses the network. A
///    user's own driver is reached by its host's name.
/// 3. Other tasks need none of this.
/// One run at a time. Not thread safe: owned by the event loop.
class HorovodTask {
 public:
  struct Callbacks {
    std::function<void(v1::ExecutorMessage)> send;  ///< sends to the ApplicationMaster
    /// Returns the dialer to the current ApplicationMaster.
    std::function<std::shared_ptr<rpc::TunnelDialer>()> dialer;
    std::function<bool()> is_suspended;  ///< whether the program is suspended now
    /// Tony's own driver hangs: it has to be ended, and counts as lost.
    std::function<void(const std::string& why)> on_hung;
  };
  using OnReady = std::function<void(const absl::StatusOr<HorovodStart>&)>;

  HorovodTask(EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  /// `on_ready` follows once, perhaps from within the call, unless Stop() comes first. An error
  /// says why the task cannot start.
  void Prepare(const v1::Assignment& assignment, const v1::Start& start,
               const core::ClusterSpec& spec, int attempt, const std::string& working_folder,
               int task_port, OnReady on_ready);
  /// The program has ended by itself: files that it wrote last are read and reported.
  void OnEnded();
  /// The program is gone, or about to be.
  void Stop();
  /// Hands the list of members to an elastic job's driver.
  void TakeMembers(const v1::RendezvousMembers& members);
  /// The executor is attached again, to another ApplicationMaster or on another stream: repeats
  /// what may not have been heard.
  void OnReattached();

 private:
  absl::StatusOr<HorovodStart> PrepareDriver(const v1::Assignment& assignment,
                                             const core::ClusterSpec& spec,
                                             const std::string& working_folder, int task_port);
  absl::StatusOr<core::HorovodSlot> SlotOf(const core::TaskId& task, const core::ClusterSpec& spec,
                                           const core::RendezvousPlan& plan);
  absl::StatusOr<std::string> OwnDriverCommand(const v1::HorovodSettings& settings,
                                               const core::ClusterSpec& spec,
                                               const std::string& output_folder, int task_port);
  /// Finds the network interface by which `host` is reached.
  void FindInterface(const std::string& host, HorovodStart start, OnReady on_ready);
  void OnPlan(const absl::StatusOr<core::RendezvousPlan>& plan);
  void OnWait(const core::RendezvousWait& wait);

  EventLoop& loop_;
  const Callbacks callbacks_;
  int epoch_ = 0;
  int attempt_ = 0;
  bool own_driver_ = false;
  std::string driver_folder_;  ///< folder of a running driver; otherwise empty
  std::optional<v1::ExecutorMessage> sent_plan_;
  std::optional<v1::ExecutorMessage> sent_wait_;
  std::unique_ptr<DriverWatch> watch_;  ///< of tony's own driver
  std::unique_ptr<DriverFiles> files_;
  std::unique_ptr<RendezvousReplica> replica_;
  std::unique_ptr<InterfaceFinder> finder_;
};

}  // namespace tony::executor
