// Elastic Horovod jobs: each lost worker is restarted alone under exponential backoff per host, and
// joins in a later round; the attempt goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/job/horovod_ranks.h"
#include "core/rendezvous/elastic_rounds.h"

namespace tony::core {

/// Not thread safe: owned by the state machine.
class ElasticRanks : public HorovodRanks {
 public:
  ElasticRanks(JobRun& run, const JobParts& parts, const ElasticSettings& settings)
      : HorovodRanks(run, parts), settings_(settings) {}

  void OnPlanReplayed(const decision::PlanAccepted& accepted) override;
  /// Forgets what the driver was told.
  void OnDriverAttached() override;
  void OnEpochOpened() override;
  /// Stops the workers that do not take part yet: the job is ending, so they never will.
  void OnSucceeded(const Task& task) override;
  bool AwaitsPlan(const Task& task) const override;
  bool JoinsLater(const Task& task) const override;
  bool GoesOnWithout(const Task& task) const override;
  void Lose(Task& task, const Verdict& failure) override;
  void RestartAlone(Task& task, const decision::TasksRestarted& restarted) override;
  /// Holds the note back until the others have proved that they go on.
  void NoteLoss(std::string sentence) override;
  /// The others wait, so they live.
  void OnWait(Task& driver, const input::RendezvousWait& wait) override;
  /// When the driver gave up because processes were lost, one of those is guilty: the last one, or
  /// the first one if none came to hvd.init().
  Verdict FailureOf(const Task& task) const override;
  bool FailIfNeeded(Task& task) override;
  void SendMembersIfChanged() override;

 protected:
  void Accept(Task& driver, const RendezvousPlan& plan) override;
  /// Each round is a new plan.
  bool IsRepeated(const Task& /*driver*/) override { return false; }
  std::string WaitLimit() const override;
  std::string LastLoss() const override { return last_loss_ ? last_loss_->sentence : ""; }
  absl::StatusOr<Slot> TaskSlot(const Task& task) const override;

 private:
  static bool IsElastic(const Task& task);
  /// True when the task's program runs, or is starting because it has a rank in the present round.
  bool TakesPart(const Task& task) const;
  /// A worker that can only start in a later round; null when there is none.
  const Task* WaitsForRound() const;
  std::vector<ElasticMember> Members() const;
  /// Forms gangs for the workers that may join, which requests their containers.
  void InviteOthers();
  /// How long the task's host is left out after this failure.
  Duration Cooldown(const Task& task);
  /// The job goes on, so the notes are true.
  void RecordHeldNotes();

  const ElasticSettings& settings_;
  std::optional<effect::SendMembers> last_members_;  ///< last list sent to the attached driver
  bool finished_ = false;                            ///< one worker has succeeded
  std::map<std::string, int> failures_on_;           ///< number of failures by host id
  std::optional<Verdict> first_loss_;    ///< the first loss of a worker in the present round
  std::optional<Verdict> last_loss_;     ///< the last loss of a worker
  bool goes_on_ = false;                 ///< the processes have met at least once
  std::vector<std::string> held_notes_;  ///< notes that are recorded when they have
};

}  // namespace tony::core
