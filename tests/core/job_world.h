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
#include "tests/core/job_auditor.h"

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

/// One job in a world where executors crash, hang and fail, containers go away, messages arrive
/// late, twice or from the past, and a person may lose patience. Messages of one executor arrive in
/// their order, as on its stream; between executors, and against the backend's events, any order
/// may happen. Every answer of the machine is audited. Not thread safe.
class JobWorld : private ClusterBackend::Listener {
 public:
  explicit JobWorld(uint64_t seed);

  /// Lets one thing happen. `calm`: nothing breaks any more, what hangs dies, and programs end
  /// well.
  void Step(bool calm);
  bool over() const { return machine_.state() == JobState::kEnded; }
  int inputs() const { return inputs_; }
  const JobMachine& machine() const { return machine_; }
  const JobAuditor& auditor() const { return auditor_; }
  /// What went wrong, with the last inputs and answers before it; empty when nothing did.
  const std::string& trouble() const { return trouble_; }
  /// To be called at the end of the job.
  void CheckEnd();

 private:
  struct Executor {
    bool attached = false;  ///< has said hello
    bool hangs = false;
    int epoch = -1;  ///< that it prepares or runs for
    bool preparing = false;
    bool running = false;
    int port = 0;
    std::deque<JobInput> outbox;
    std::deque<JobEffect> inbox;
  };

  void BackendStep(bool calm);
  void ExecutorStep(const std::string& id, Executor& executor, bool calm);
  void Obey(const std::string& id, Executor& executor, const JobEffect& effect);
  void RunProgram(const std::string& id, Executor& executor, bool calm);
  void Disturb(const std::string& id, Executor& executor);
  void Misdirect();
  void PassTime();
  void Apply(const JobInput& input);
  void Carry(const JobEffect& effect);
  void Complain(const std::string& what);

  void OnContainerGranted(const Container& container) override;
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override;
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override;
  void OnContainerEnded(const std::string& container_id, const ContainerEnd& end) override;

  Dice dice_;
  FakeClock clock_;
  JobMachine machine_;
  JobAuditor auditor_;
  FakeClusterBackend backend_;
  std::map<std::string, Executor> executors_;
  std::vector<JobInput> past_;   ///< messages of executors that were delivered
  std::deque<std::string> log_;  ///< the last inputs and effects
  std::string trouble_;
  int next_port_ = 20000;
  int inputs_ = 0;
};

}  // namespace tony::core
