// Watches a job's state machine from outside and holds it to what must be true of every job.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/job/job_machine.h"

namespace tony::core {

/// 1. Job states follow the transition table.
/// 2. A container is bound to one task, a task to one container; each granted one has ended or was
///    killed at the end.
/// 3. What is asked for and not yet granted equals the tasks that wait for a container; nothing is
///    asked for as long as what it depends on is not fulfilled, or its containers are still there.
/// 4. Start is sent once for an epoch, to all containers of a type together, and to all of a job
///    without order, when each has registered for it, with the ports it named; again only to those
///    that start again in it, or had not got it. What a task depends on has succeeded, or was
///    started no later where it is not waited for.
///    A Horovod process is started with a plan that has a place for it, and that was journaled; in
///    an elastic job its driver was told of it before.
/// 5. Epochs count up by one, and not more often than the budget allows.
/// 6. Messages of another epoch, or of a container that is gone or was never used, have no effect.
/// 7. What follows from a decision comes after the decision was journaled.
/// 8. No part asks for a change that a table of states lacks.
/// 9. JobEnded is recorded once and last; Finish follows it at once.
/// Not thread safe.
class JobAuditor {
 public:
  explicit JobAuditor(const JobMachine& machine) : machine_(&machine) {}

  /// Another machine goes on from the journal: what it does not know was not decided.
  void Restarted(const JobMachine& machine);

  /// To be called after each input. Returns what was violated, empty when nothing was. `complete`:
  /// the machine lives on, and `effects` are not only the first ones.
  std::vector<std::string> Check(const JobInput& input, const JobEffects& effects,
                                 bool complete = true);
  /// To be called when the job is over.
  std::vector<std::string> CheckEnd() const;

  /// How often a complete gang was told to start.
  int starts() const { return starts_; }

 private:
  struct Known {
    TaskId task;
    bool gone = false;  ///< ended, or killed
    bool attached = false;
    bool rejoined = false;  ///< has opened another stream with what it holds
    int attempt = 0;        ///< that it was prepared for
    int registered_epoch = -1;
    int port = 0;
    int started_epoch = -1;
    int started_attempt = -1;
  };

  void See(const input::ContainerGranted& granted) { granted_.insert(granted.container.id); }
  void See(const input::ContainerEnded& ended);
  void See(const input::ExecutorAttached& attached);
  void See(const input::ExecutorRegistered& registered);
  template <typename Input>
  void See(const Input&) {}

  void Check(const effect::Journal& effect);
  void Check(const effect::ReclaimContainers& effect);
  void Check(const effect::RequestContainers& effect);
  void Check(const effect::GiveBackSpare&) {}
  void Check(const effect::CancelRequests&);
  void Check(const effect::LaunchExecutor& effect);
  void Check(const effect::SendAssignment&) {}
  void Check(const effect::SendReattached&) {}
  void Check(const effect::AnswerHeartbeat& effect);
  void Check(const effect::SendPrepare& effect);
  void Check(const effect::SendStart& effect);
  void Check(const effect::SendMembers& effect);
  void Check(const effect::SendShutdown&) {}
  void Check(const effect::KeepStacks&) {}
  void Check(const effect::KillContainer& effect);
  void Check(const effect::Record& effect);
  void Check(const effect::ShowMeasurement&) {}
  void Check(const effect::ReportFault& effect) { Complain(effect.sentence); }
  void Check(const effect::Finish&);
  bool IsStale(const JobInput& input) const;
  bool IsLive(const std::string& container_id) const;
  void CheckStart(const std::string& container_id, const effect::SendStart& effect);
  void CheckGang(const effect::SendStart& effect);
  bool Succeeded(const std::string& type) const;
  bool Released(const TaskId& task) const;
  /// Whether nothing of `type` may start yet; `room`: or be asked for, since what it depends on,
  /// perhaps through others, is still there.
  bool HasToWait(const std::string& type, bool room) const;
  void CheckTable();
  void Complain(const std::string& what) { violations_.push_back(what); }

  const JobMachine* machine_;
  JobState state_ = JobState::kNew;
  int epoch_ = 0;
  std::map<TaskId, int> released_;   ///< newest epoch for which its start was journaled
  std::set<std::string> untracked_;  ///< types that were tracked, and are no longer
  int starts_ = 0;
  std::set<std::string> journaled_containers_;
  int journaled_epoch_ = 0;
  int planned_epoch_ = -1;
  std::set<std::string> told_members_;  ///< to drivers
  bool journaled_verdict_ = false;
  int restarts_ = 0;
  bool ended_ = false;  ///< JobEnded was recorded
  bool finished_ = false;
  std::set<std::string> granted_;
  std::set<std::string> gone_;  ///< of those granted
  std::map<std::string, Known> launched_;
  std::map<std::string, int> awaited_;  ///< containers asked for and not granted, by type
  std::set<std::string> paused_;        ///< types that may be asked for again later
  std::vector<std::string> violations_;
};

}  // namespace tony::core
