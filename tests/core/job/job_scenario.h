// The little language of tests/core/job/scenarios: commands in, effects of the job's state machine
// out, as text.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/fake_clock.h"
#include "core/job/job_machine.h"
#include "core/ports/fake_cluster_backend.h"
#include "tests/core/job/job_auditor.h"
#include "tests/core/job/scenario_command.h"

namespace tony::core {

/// A file is a list of blocks, separated by empty lines: commands, a line "----", and what they led
/// to, which ends with the state of the job. `#` begins a comment.
///
///   job worker=2 ps=1 retries=1 …    a new job; scenario_job.h has all that may be said
///   start
///   grant all | TYPE…                what was asked for; `grant-unasked TYPE`, `grant-again c1`
///   wait "WHAT" "UNBLOCK"            the request has to wait
///   refuse never-fits|failed "WHY"
///   lose-master                      another machine goes on from the journal; all streams break
///   detach WHO…                      its stream breaks
///   reattach WHO… [epoch=E] phase=preparing|registered|running|ended [code=N] [page=PORT]
///   end-reclaimed                    a container that was reclaimed turns out to be gone
///   process CONTAINER pid=N start=N  the backend says which process its executor is
///   attach WHO… [boot=ID]            WHO is all, a task (worker:0) or a container (c1)
///   register WHO… [epoch=E] [attempt=A] [page=PORT]
///   started WHO… [epoch=E] [attempt=A]
///   end WHO… code=N | signal=N | timed-out | not-started="WHY" | lost="WHY" [epoch=E] [attempt=A]
///           [at=MILLIS] [says="LAST LINE OF ITS OUTPUT"]
///   lost WHO… [why="WHY"]            its container went away
///   gone WHO…                        its executor has ended, and so has its container
///   heartbeat WHO… [processes=N]
///   silence WHO…                     no more heartbeats from it, as others send meanwhile
///   port-taken WHO holder="HOLDER"
///   listens WHO…                     something listens on its visualization port
///   listens-not WHO…                 nothing does any more
///   silent WHO… [millis=N] [percent=N]   no output for so long, and its use of a core; 0: some
///   again plan WHO [ranks=N] [trouble="WHY"]   the driver says who has which rank; N are too few
///   round WHO number=R members=NAME,NAME…   the driver of an elastic job says who takes part
///   rendezvous WHO "SENTENCE" [missing=TASK,TASK…]   the driver says for whom processes wait
///   advance 5s | 200ms               the deadlines on the way are looked at
///   stall 60s                        the ApplicationMaster is stopped: no tick, nothing is read
///   stop ["WHY"]
///   quietly A; B; C                  runs commands whose effects are not shown
///
/// Not thread safe.
class JobScenario : public ClusterBackend::Listener {
 public:
  JobScenario() = default;

  /// The text of `file`, a name for messages, with each block's output as it is now.
  ///
  /// InvalidArgument – a line is not of the language, its first command is not `job`, or its last
  ///     commands have no "----"; the message names file and line and says what was expected.
  absl::StatusOr<std::string> Run(const std::string& text, const std::string& file);

 private:
  absl::Status RunLine(const std::string& line);
  absl::Status Run(const ScenarioCommand& command);
  bool RunBackendCommand(const ScenarioCommand& command);
  bool RunExecutorCommand(const ScenarioCommand& command);
  absl::Status NewJob(const ScenarioCommand& command);
  void LoseMaster();
  RendezvousPlan Plan(const ScenarioCommand& command) const;
  static RendezvousPlan Round(const ScenarioCommand& command);
  input::HeldTask Held(const ScenarioCommand& command, int number, int attempt) const;
  void End(const std::string& container_id, int attempt, const ScenarioCommand& command);
  void Advance(Duration by);
  void SendHeartbeats();
  void Apply(const JobInput& input);
  void Complain(const std::string& what);
  std::vector<std::string> ContainersOf(const ScenarioCommand& command) const;
  std::string StateLine() const;

  void OnContainerGranted(const Container& container) override;
  void OnExecutorStarted(const std::string& container_id, const ExecutorProcess& process) override;
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override;
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override;
  void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) override;
  /// Lets the fake backend know what the machine wants.
  void Obey(const JobEffect& effect);

  FakeClock clock_;
  TimePoint job_began_;
  JobDescription job_;
  std::unique_ptr<JobMachine> machine_;
  std::vector<std::pair<Decision, TimePoint>> journal_;
  int incarnation_ = 1;
  std::unique_ptr<JobAuditor> auditor_;
  std::unique_ptr<FakeClusterBackend> backend_;
  std::set<std::string> beating_;  ///< containers whose executors send heartbeats
  std::string output_;             ///< of the block so far
  std::string violations_;         ///< of the block so far; shown also where effects are not
  bool show_time_ = false;         ///< effects are to be preceded by the time: while it is advanced
};

}  // namespace tony::core
