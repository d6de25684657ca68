// A submission that is a step of a workflow: what it does before, beside and after its job
// (docs/design/steps.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cli/environment.h"
#include "client/cli/options.h"
#include "client/follow/follow_job.h"
#include "client/follow/parent_watch.h"
#include "client/jobs/job_store.h"
#include "client/workflow/held_signals.h"
#include "client/workflow/step_rules.h"
#include "client/workflow/summary.h"
#include "client/workflow/workflow.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

/// To be made before the process has threads: from then on SIGTERM, SIGINT and SIGHUP wait until
/// the job is followed. Not thread safe.
class Step {
 public:
  /// Null: neither the options nor the environment make this process a step. InvalidArgument – an
  /// option of steps, or what the workflow system tells, is wrong.
  static absl::StatusOr<std::unique_ptr<Step>> Begin(const SubmitOptions& options);
  /// The workflow's values for the client's Hadoop configuration.
  const std::vector<hadoop::GivenValue>& hadoop() const { return workflow_.hadoop; }

  /// The options of the submission, with those that the workflow and step mode add.
  const SubmitOptions& options() const { return options_; }
  /// Empty: the step has no key, and nobody can adopt its job.
  const std::string& key() const { return key_; }
  OnExisting on_existing() const { return on_existing_; }
  /// The name of the workflow system; empty: none is recognized.
  const std::string& system() const { return workflow_.system; }
  StepSummary& summary() { return summary_; }

  /// Adds what the configuration of a step's job says unless its user does. `job` was built from
  /// options(), and is to be built again. The codes of LocalStep::Open().
  absl::Status AddDefaults(const jobfile::LoadedJob& job);

  /// For FollowJob(); refers to this.
  FollowedStep Following();
  /// After FollowJob(): signals wait again.
  void HoldSignals() const { signals_.Hold(); }
  /// Waits for `pause`, less if the parent ends meanwhile. Cancelled – the step was told to end, or
  /// its parent is gone.
  absl::Status Pause(Duration pause) const;
  /// Cancelled – the step was told to end, or its parent is gone.
  absl::Status CheckWanted() const;

  /// A sentence for people: on standard output, unless that is for programs.
  void Tell(const std::string& text) const;
  /// Tells the job and its links, and writes the summary.
  void TellJob();
  /// The job is over, or was left: takes over its verdict and links.
  void TakeEnd(const StoredJob& job);
  /// Prints why there is no job, or no verdict, for the summary as well. Returns `exit_code`.
  int Fail(const absl::Status& why, int exit_code);
  /// Tells the job and its links once more, and writes what the workflow system gets; once. Returns
  /// `exit_code`.
  int End(int exit_code);

 private:
  Step(SubmitOptions options, Workflow workflow)
      : options_(std::move(options)), workflow_(std::move(workflow)) {}
  absl::Status ReadOptions();
  void WriteLines(bool over) const;
  void SaveSummary() const;
  void SaveOutputs() const;

  const HeldSignals signals_;
  const ParentWatch parent_;
  SubmitOptions options_;
  const Workflow workflow_;
  std::string key_;
  OnExisting on_existing_ = OnExisting::kAdopt;
  std::optional<Duration> stop_wait_;
  StepSummary summary_;
  bool ended_ = false;
};

}  // namespace tony::client
