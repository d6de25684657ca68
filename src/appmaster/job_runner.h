// Runs one job: feeds inputs to its state machine and carries out the effects that it returns.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "appmaster/assignments.h"
#include "appmaster/record/decision_log.h"
#include "appmaster/record/history.h"
#include "appmaster/record/measurements.h"
#include "appmaster/record/metrics.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "core/ports/cluster_backend.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/executor_service.h"

namespace tony::appmaster {

/// Lives on the event loop; takes inputs from the backend and from the services. Not thread safe:
/// owned by the event loop.
class JobRunner : public core::ClusterBackend::Listener {
 public:
  /// The objects that the runner uses; all must outlive it. set_backend() and set_master_address()
  /// must be called before the first input.
  struct Parts {
    EventLoop& loop;
    const Clock& clock;
    DecisionLog& journal;
    History& history;
    Measurements& measurements;
    Metrics& metrics;
    rpc::ExecutorService& executors;
    const rpc::CertificateAuthority& authority;
    const Assignments& assignments;
    std::vector<std::string> executor_arguments;  ///< see Platform::executor_arguments()
    std::function<void()> on_finished;  ///< no container is left and the last event is recorded
    /// Another ApplicationMaster has taken over. The runner does nothing more, and this process
    /// must not touch the job even when it exits.
    std::function<void(const std::string& why)> on_deposed;
    /// The machine has taken inputs, and may have given up containers.
    std::function<void()> on_step = [] {};
    /// The work between the end of the last container and the job's last event. Calls `done` on the
    /// loop, possibly from within the call.
    std::function<void(std::function<void()> done)> before_end = [](const auto& done) { done(); };
    /// Carries out effect::KeepStacks.
    std::function<void(const core::effect::KeepStacks&)> keep_stacks = [](const auto&) {};
  };

  JobRunner(core::JobMachine& machine, Parts parts);

  void set_backend(core::ClusterBackend* backend) { backend_ = backend; }
  void set_master_address(std::string address) { master_address_ = std::move(address); }

  /// Applies one input after those already taken, runs the effects, and sets the timer for the
  /// machine's next deadline.
  void Apply(core::JobInput input);
  /// Takes one input, to be applied in the loop's next turn. Inputs that arrive together are
  /// applied together, so that one journal entry keeps the decisions of all of them.
  void Take(core::JobInput input);

  void OnContainerGranted(const core::Container& container) override;
  void OnExecutorStarted(const std::string& container_id,
                         const core::ExecutorProcess& process) override;
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override;
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override;
  void OnContainerEnded(const std::string& container_id, const core::ContainerEnd& end) override;

 private:
  /// The machine's answer to inputs that were applied together.
  struct Step {
    bool kept = false;  ///< its decisions are kept, or it has none
    core::JobEffects effects;
  };

  void ApplyTaken();
  void Tick();
  /// The journal has kept the decisions of the oldest step that waits for it, or could not.
  void OnKept(const absl::Status& status);
  /// Runs the effects of steps whose decisions are kept, in order.
  void CarryOut();
  /// Whether the effect, the job's last event, has to wait. Lets before_end begin the first time.
  bool HoldsEnd(const core::JobEffect& effect);
  void Run(const core::effect::Journal&) {}  // ApplyTaken() takes these out
  void Run(const core::effect::ReclaimContainers& effect);
  void Run(const core::effect::RequestContainers& effect);
  void Run(const core::effect::GiveBackSpare& effect);
  void Run(const core::effect::CancelRequests& effect);
  void Run(const core::effect::LaunchExecutor& effect);
  void Run(const core::effect::SendAssignment& effect);
  void Run(const core::effect::SendReattached& effect);
  void Run(const core::effect::AnswerHeartbeat& effect);
  void Run(const core::effect::SendPrepare& effect);
  void Run(const core::effect::SendStart& effect);
  void Run(const core::effect::SendMembers& effect);
  void Run(const core::effect::SendShutdown& effect);
  void Run(const core::effect::KillContainer& effect);
  void Run(const core::effect::Record& effect);
  void Run(const core::effect::ShowMeasurement& effect);
  void Run(const core::effect::KeepStacks& effect);
  void Run(const core::effect::ReportFault& effect);
  void Run(const core::effect::Finish& effect);

  void Send(const std::string& container_id, const v1::MasterMessage& message);

  core::JobMachine& machine_;
  Parts parts_;
  core::ClusterBackend* backend_ = nullptr;
  std::string master_address_;
  std::vector<core::JobInput> taken_;
  std::deque<Step> steps_;  ///< not carried out yet, oldest first
  bool carrying_out_ = false;
  bool holding_ = false;    ///< the first effect of steps_ waits for before_end
  bool end_asked_ = false;  ///< before_end was called
  bool deposed_ = false;
  bool said_loss_ = false;
  std::unique_ptr<EventLoop::Handle> deadline_;
};

}  // namespace tony::appmaster
