// An attempt holds the step's lock while it decides, and hands it to the job that it launches.
#include "client/submit/local_step_job.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/catalog/local_jobs.h"
#include "client/cli/messages.h"
#include "client/submit/local_job.h"
#include "client/workflow/local_step.h"
#include "client/workflow/step_attempt.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// A step's folder on this machine. Not thread safe.
class LocalStepHome : public StepHome {
 public:
  LocalStepHome(Step& step, const Environment& environment, const jobfile::LoadedJob& job,
                LocalStep folder)
      : step_(step),
        environment_(environment),
        job_(job),
        local_dir_(job.result.local.dir),
        folder_(std::move(folder)),
        jobs_(local_dir_, clock_) {}

  absl::StatusOr<State> Look() override {
    lock_.Reset();
    absl::StatusOr<os::UniqueFd> lock = folder_.Lock();
    if (!lock.ok() && !absl::IsAlreadyExists(lock.status())) return lock.status();
    TONY_ASSIGN_OR_RETURN(record_, folder_.Read());
    State state{.free = lock.ok(), .attempts = record_.attempts};
    if (lock.ok()) lock_ = *std::move(lock);
    state.holder = "another attempt of the step is launching its job";
    if (record_.job.empty()) return state;
    absl::StatusOr<StoredJob> last = JobStore(local_dir_).Read(record_.job);
    if (!last.ok() && !absl::IsNotFound(last.status())) return last.status();
    if (!last.ok()) return state;
    state.reported = folder_.IsReported(last->id);
    state.last = *std::move(last);
    return state;
  }

  absl::StatusOr<std::optional<int>> Launch(const State& state, StepAttempt& attempt) override {
    const bool detached = step_.options().detach;
    LocalLaunch launch{.detached = true, .leased = !detached, .lock_fds = {lock_.get()}};
    launch.on_id = [this](const std::string& id) {
      record_.key = step_.key();
      record_.system = step_.system();
      record_.job = id;
      ++record_.attempts;
      record_.used_millis = clock_.UnixMillis();
      return folder_.Write(record_);
    };
    launch.go_on = [this] { return step_.CheckWanted(); };
    FailedLaunch failed;
    const std::unique_ptr<LaunchedJob> launched =
        LaunchLocalJob(step_.options(), environment_, job_, launch, failed);
    if (launched == nullptr) return step_.Fail(failed.why, failed.exit_code);
    // From now on the job's processes have the step and its checkpoints.
    lock_.Reset();
    launched->guard.Reset();
    launched->checkpoints.Reset();
    launched->page_sockets.clear();
    TONY_ASSIGN_OR_RETURN(const StoredJob stored, JobStore(local_dir_).Read(launched->id));
    const int exit_code = attempt.FollowOwn(stored, state.attempts + 1);
    LocalStep::RemoveOld(local_dir_, job_.result.local.history_days, clock_.UnixMillis());
    return exit_code;
  }

  absl::Status MarkReported(const std::string& job_id) override {
    return folder_.MarkReported(job_id);
  }
  absl::Status RemoveCheckpoints() override { return folder_.RemoveCheckpoints(); }
  JobCatalog& jobs() override { return jobs_; }
  std::string local_dir() const override { return local_dir_; }
  absl::StatusOr<std::unique_ptr<JobCatalog>> OpenCatalog() override {
    return std::make_unique<LocalJobs>(local_dir_, clock_);
  }
  int EndJob(const StoredJob& job, const absl::StatusOr<core::Verdict>& verdict) override {
    return EndLocalJob(verdict, job.folder);
  }

 private:
  const SystemClock clock_;
  Step& step_;
  const Environment& environment_;
  const jobfile::LoadedJob& job_;
  const std::string local_dir_;
  LocalStep folder_;
  LocalJobs jobs_;
  os::UniqueFd lock_;  ///< held while this attempt decides
  StepRecord record_;
};

}  // namespace

int RunLocalStep(Step& step, const Environment& environment, const jobfile::LoadedJob& job) {
  absl::StatusOr<LocalStep> folder = LocalStep::Open(job.result.local.dir, step.key());
  if (!folder.ok()) return step.Fail(folder.status(), kInfrastructure);
  LocalStepHome home(step, environment, job, *std::move(folder));
  return StepAttempt(step, environment, job, home).Run();
}

}  // namespace tony::client
