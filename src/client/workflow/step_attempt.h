// One attempt of a step: it joins the job of an earlier attempt, or launches a new one.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/catalog/job_catalog.h"
#include "client/cli/environment.h"
#include "client/jobs/job_store.h"
#include "client/workflow/step.h"
#include "core/record/verdict.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

class StepAttempt;

/// Where a step's key is kept, and how its jobs are launched there. All calls: PermissionDenied,
/// Unavailable, DataLoss – the key's folder cannot be read or written. Not thread safe.
class StepHome {
 public:
  /// The finding of a look at the step. Plain data.
  struct State {
    /// Nobody else has the step: no process of the last job lives, and this attempt may launch.
    bool free = false;
    std::string holder;  ///< for people, if it is not free and has no job: who has it
    std::optional<StoredJob> last;
    bool reported = false;  ///< an attempt has ended with the last job's verdict
    int attempts = 0;       ///< jobs launched so far
  };

  virtual ~StepHome() = default;
  /// Takes the step if nobody has it. PermissionDenied, Unavailable, DataLoss – see above.
  virtual absl::StatusOr<State> Look() = 0;
  /// Launches a job of the step, which is free, and follows it. Returns the exit status, or
  /// nothing: another attempt was faster. PermissionDenied, Unavailable – see above.
  virtual absl::StatusOr<std::optional<int>> Launch(const State& state, StepAttempt& attempt) = 0;
  /// PermissionDenied, Unavailable – see above.
  virtual absl::Status MarkReported(const std::string& job_id) = 0;
  /// PermissionDenied, Unavailable – see above.
  virtual absl::Status RemoveCheckpoints() = 0;
  virtual JobCatalog& jobs() = 0;
  /// tony.local.dir of its jobs; empty: they are on a cluster.
  virtual std::string local_dir() const { return ""; }
  /// Another catalog, for another thread. Unavailable – there is none.
  virtual absl::StatusOr<std::unique_ptr<JobCatalog>> OpenCatalog() = 0;
  /// Pause between two looks.
  virtual Duration pause() const { return std::chrono::milliseconds(50); }
  /// Tidies up after a job that was followed, and returns the exit status.
  virtual int EndJob(const StoredJob& job, const absl::StatusOr<core::Verdict>& verdict) = 0;
};

/// Not thread safe.
class StepAttempt {
 public:
  /// All arguments outlive this.
  StepAttempt(Step& step, const Environment& environment, const jobfile::LoadedJob& job,
              StepHome& home)
      : step_(step), environment_(environment), job_(job), home_(home) {}

  /// Returns the exit status. Blocks until the step's job has ended. The verdict counts as reported
  /// when all that the workflow system gets of it is written.
  int Run();
  /// For StepHome::Launch(): takes over the job's names, then follows it as its owner to its end.
  /// Returns the exit status.
  int FollowOwn(const StoredJob& job, int attempt);
  /// The first part of FollowOwn(), for a home that follows by itself.
  void TakeJob(const std::string& id, bool adopted, int attempt);
  /// The last part of FollowOwn(): takes over the verdict.
  void NoteEnd(const std::string& job_id, const absl::StatusOr<core::Verdict>& verdict);

 private:
  int RunToEnd();
  absl::StatusOr<std::optional<int>> Try();
  absl::StatusOr<std::optional<int>> Join(const StepHome::State& state);
  absl::StatusOr<std::optional<int>> Begin(const StepHome::State& state);
  std::optional<int> Wait(const std::string& sentence);
  void Stop(const StoredJob& last);
  absl::StatusOr<std::optional<int>> Report(const StepHome::State& state);
  std::optional<int> Adopt(const StepHome::State& state);
  void FindPage(const StoredJob& job);
  absl::StatusOr<core::Verdict> Follow(const StoredJob& job);

  Step& step_;
  const Environment& environment_;
  const jobfile::LoadedJob& job_;
  StepHome& home_;
  std::string waited_for_;
  std::string ended_job_;  ///< the job whose verdict is the step's; empty: there is none
};

}  // namespace tony::client
