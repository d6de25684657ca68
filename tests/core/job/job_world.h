// A cluster with executors, in memory: lively, unreliable, and repeatable from a seed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/fake_clock.h"
#include "core/job/job_machine.h"
#include "core/ports/fake_cluster_backend.h"
#include "tests/core/job/job_auditor.h"

namespace tony::core {

/// Small and the same everywhere, unlike the distributions of the standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 2 + 1) {}
  /// 0 … sides - 1.
  int Roll(int sides);
  bool OneIn(int sides) { return Roll(sides) == 0; }

 private:
  uint64_t state_;
};

/// One job in a world where ApplicationMasters are lost between any two of their effects and
/// restarted from the journal, streams break and are opened again, executors crash, hang and fail,
/// containers go away, messages arrive late, twice or from the past, and a person may lose
/// patience. Messages of one executor arrive in their order, as on its stream; between executors,
/// and against the backend's events, any order may happen. Every answer of the machine is audited.
/// Not thread safe.
class JobWorld : private ClusterBackend::Listener {
 public:
  /// The kinds of faults in the world.
  enum class Mishaps {
    kAll,
    kMasters,  ///< ApplicationMasters are lost and streams break; programs end well, nothing else
               ///< is lost, nobody stops the job, no deadline but the heartbeats' runs
  };

  explicit JobWorld(uint64_t seed, Mishaps mishaps = Mishaps::kAll);

  /// Lets one thing happen. `calm`: nothing breaks any more, what hangs dies, and programs end
  /// well.
  void Step(bool calm);
  bool over() const { return machine_->state() == JobState::kEnded; }
  int inputs() const { return inputs_; }
  int restarts() const { return restarts_; }
  /// Times that a program was started.
  int runs() const { return runs_; }
  const JobMachine& machine() const { return *machine_; }
  const JobAuditor& auditor() const { return auditor_; }
  /// The first violation, with the last inputs and answers before it; empty if there was none.
  const std::string& trouble() const { return trouble_; }
  /// The last inputs and answers.
  std::string log() const;
  /// To be called at the end of the job.
  void CheckEnd();

 private:
  struct Executor {
    bool attached = false;  ///< has said hello on its present stream
    bool heard = false;     ///< and it has arrived
    bool assigned = false;
    bool hangs = false;
    int epoch = -1;  ///< that it prepares or runs for
    int attempt = 0;
    bool preparing = false;
    bool keep_ports = false;
    bool running = false;
    std::optional<TaskExit> exit;  ///< of the epoch, once the program has ended
    int port = 0;
    std::optional<RendezvousPlan> plan;   ///< of a driver that runs
    std::optional<ElasticRounds> rounds;  ///< of an elastic one
    std::deque<JobInput> outbox;
    std::deque<JobEffect> inbox;
  };

  void BackendStep(bool calm);
  void ExecutorStep(const std::string& id, Executor& executor, bool calm);
  void Obey(const std::string& id, Executor& executor, const JobEffect& effect);
  void RunProgram(const std::string& id, Executor& executor, bool calm);
  /// Starts a running driver's behaviour.
  void Drive(const std::string& id, Executor& executor, const effect::SendStart& start);
  void CarryOutRounds(const std::string& id, Executor& executor, const ElasticEffects& effects);
  /// Processes of an elastic job want a place in the next round, for whatever reason.
  void AskForPlaces(const std::string& id, Executor& executor);
  int FindWorkers() const;
  /// A driver says who has which rank.
  void SayPlan(const std::string& id, Executor& executor);
  void Disturb(const std::string& id, Executor& executor);
  /// The executor's first message when it attaches.
  input::ExecutorAttached Hello(const std::string& id, const Executor& executor) const;
  void BreakStream(Executor& executor);
  /// The ApplicationMaster is gone with all that was on its way; the next one goes on.
  void LoseMaster();
  void Misdirect();
  void PassTime();
  void Apply(const JobInput& input);
  void Carry(const JobEffect& effect);
  /// The executor may count on its task from now on for the time of the lease.
  void Lease(const std::string& container_id);
  /// No other ApplicationMaster may count on the task of a container that is told to start.
  void CheckLeases(const std::vector<std::string>& container_ids);
  void Complain(const std::string& what);

  void OnContainerGranted(const Container& container) override;
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override;
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override;
  void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) override;

  Dice dice_;
  const Mishaps mishaps_;
  FakeClock clock_;
  const JobDescription job_;
  std::unique_ptr<JobMachine> machine_;
  std::vector<std::pair<Decision, TimePoint>> journal_;
  JobAuditor auditor_;
  FakeClusterBackend backend_;
  std::map<std::string, Executor> executors_;
  /// Includes executors whose end nobody has seen: their programs run until then.
  std::map<std::string, std::pair<TaskId, TimePoint>> leases_;
  std::vector<JobInput> past_;   ///< messages of executors that were delivered
  std::deque<std::string> log_;  ///< the last inputs and effects
  std::string trouble_;
  int next_port_ = 20000;
  int inputs_ = 0;
  int restarts_ = 0;
  int runs_ = 0;
  bool lose_master_ = false;  ///< in the middle of the next answer
  int depth_ = 0;             ///< of Apply(), which effects may lead to again
};

}  // namespace tony::core
