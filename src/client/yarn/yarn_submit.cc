// Checks that the job can run at all, stages it locally, copies it to the cluster, submits it and
// follows it. What the request needs is checked before anything is staged, so that a refusal leaves
// nothing behind. Meanwhile a second thread removes what earlier jobs left.
#include "client/yarn/yarn_submit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/application_client.h"
#include "client/cli/messages.h"
#include "client/follow/follow_job.h"
#include "client/jobs/job_remains.h"
#include "client/staging/staging.h"
#include "client/staging/yarn_cache.h"
#include "client/staging/yarn_staging.h"
#include "client/workflow/azkaban.h"
#include "client/workflow/step_attempt.h"
#include "client/yarn/yarn_access.h"
#include "client/yarn/yarn_jobs.h"
#include "client/yarn/yarn_master_source.h"
#include "client/yarn/yarn_remains.h"
#include "client/yarn/yarn_step.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "core/schedule/admission.h"
#include "hadoop/rpc/remote_exception.h"
#include "os/files/files.h"
#include "rpc/security/credentials.h"

namespace tony::client {
namespace {

/// Timeout of each call of the tidying: the client's exit waits for the call that is under way.
constexpr std::chrono::seconds kTidyingTimeout{2};
/// Time for the tidying when the submission is detached and returns at once.
constexpr std::chrono::milliseconds kBriefTidying{500};
/// How long an attempt of a step may take from its application's id to the submission, before
/// another attempt gives the application up.
constexpr std::chrono::seconds kSubmitPatience{30};
/// Pause between two looks at a step, each of which asks the ResourceManager and HDFS.
constexpr std::chrono::milliseconds kLookPause{300};

/// In a step of Azkaban the ticket that a user gets is not seen, so the message says what helps.
absl::Status WithTicketAdvice(const absl::Status& status) {
  if (!absl::IsUnauthenticated(status) || !IsAzkaban(EnvironmentVariable)) return status;
  return absl::UnauthenticatedError(absl::StrCat(
      std::string(status.message()),
      "; Azkaban sets KRB5CCNAME to a cache that does not exist: give the job type Azkaban's "
      "HadoopShell, which brings tokens, or set KRB5CCNAME in the job type's command"));
}

/// A missing or wrong configuration is for the caller to correct, so it gets kBadUsage.
int FailBeforeItRuns(const absl::Status& status) {
  const bool bad_usage = absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
                         absl::IsFailedPrecondition(status);
  return FailWith(WithTicketAdvice(status), bad_usage ? kBadUsage : kInfrastructure);
}

/// A sentence about the first request larger than any container of the cluster; empty: all fit.
std::string NeverFits(const core::JobDescription& job, const core::Resources& largest) {
  const auto excess = [&largest](const std::string& who,
                                 const core::Resources& wanted) -> std::string {
    const auto say = [&](const std::string& amount, const std::string& most) {
      return absl::StrCat(who, " asks for ", amount,
                          ", but the largest container of the cluster has ", most,
                          "; ask for less");
    };
    if (wanted.gpus > largest.gpus) {
      return say(absl::StrCat(wanted.gpus, " GPUs"), absl::StrCat(largest.gpus));
    }
    if (wanted.memory_mb > largest.memory_mb) {
      return say(absl::StrCat(wanted.memory_mb, " MiB of memory"),
                 absl::StrCat(largest.memory_mb, " MiB"));
    }
    if (wanted.vcores > largest.vcores) {
      return say(absl::StrCat(wanted.vcores, " virtual cores"), absl::StrCat(largest.vcores));
    }
    return "";
  };
  std::string sentence = excess("the ApplicationMaster (tony.am.…)", job.am_resources);
  for (const core::TaskType& type : core::WithMasterTask(job).types) {
    if (sentence.empty() && type.instances > 0) sentence = excess(type.name, type.resources);
  }
  return sentence;
}

/// A sentence like NeverFits() for resource types that core does not know. `largest` holds all
/// resource types of the cluster.
std::string OthersNeverFit(const core::JobDescription& job, const jobfile::YarnSettings& yarn,
                           const std::map<std::string, int64_t>& largest) {
  for (const auto& [type, amounts] : yarn.other_resources) {
    const auto runs = [&, name = type](const core::TaskType& known) {
      return known.name == name && known.instances > 0;
    };
    if (std::none_of(job.types.begin(), job.types.end(), runs)) continue;
    for (const auto& [name, amount] : amounts) {
      const auto most = largest.find(name);
      if (most != largest.end() && amount <= most->second) continue;
      const std::string asked = absl::StrCat(type, " asks for ", amount, " ", name);
      if (most == largest.end()) {
        return absl::StrCat(asked,
                            ", a resource type that the cluster does not have; correct tony.", type,
                            ".yarn-resources");
      }
      return absl::StrCat(asked, ", but the largest container of the cluster has ", most->second,
                          "; ask for less");
    }
  }
  return "";
}

/// A sentence about a node label that the cluster does not have; empty: it has all. YARN itself
/// lets a request with placement constraints and an unknown label wait for ever.
std::string LabelIsMissing(const jobfile::YarnSettings& yarn, const std::set<std::string>& labels) {
  for (const auto& [type, label] : yarn.node_labels) {
    if (labels.contains(label)) continue;
    return absl::StrCat(type == core::kMasterTaskType ? "the ApplicationMaster" : type,
                        " is to run on nodes with the label ", label,
                        ", which the cluster does not have; its labels are: ",
                        labels.empty() ? "none" : absl::StrJoin(labels, ", "));
  }
  return "";
}

/// One submission, from staging to the job's end. Not thread safe.
class YarnSubmission {
 public:
  YarnSubmission(const SubmitOptions& options, const Environment& environment,
                 const jobfile::LoadedJob& job, const backend::YarnCluster& cluster, Step* step)
      : options_(options),
        environment_(environment),
        job_(job),
        cluster_(cluster),
        step_(step),
        client_(cluster.application_client(), cluster.timeout()) {}

  int Run() {
    if (const int code = Create(); code != 0) return code;
    return Submit(nullptr, nullptr).value_or(static_cast<int>(kInfrastructure));
  }

  /// Runs the job of a step that is free, as the `number`th one. Nothing: another attempt was
  /// faster.
  absl::StatusOr<std::optional<int>> RunStep(YarnStep& folder, StepAttempt& attempt, int number) {
    if (const int code = Create(); code != 0) return code;
    const absl::Status taken = folder.Take(number, job_id_);
    if (absl::IsAlreadyExists(taken)) return std::nullopt;
    TONY_RETURN_IF_ERROR(taken);
    attempt.TakeJob(job_id_, /*adopted=*/false, number);
    return Submit(&folder, &attempt);
  }

 private:
  /// Gets an id for a job that the cluster can run. Returns the exit status; 0: it has.
  int Create() {
    const bool in_docker = !job_.result.images.by_type.empty();
    if (in_docker && !cluster_.docker().ok()) return FailWith(cluster_.docker(), kBadUsage);
    const auto created = client_.Create(job_.result.yarn.gpu_resource);
    if (!created.ok()) return FailWith(WithTicketAdvice(created.status()), kInfrastructure);
    std::string excess = NeverFits(job_.result.job, created->largest);
    if (excess.empty())
      excess = OthersNeverFit(job_.result.job, job_.result.yarn, created->largest_others);
    if (!excess.empty()) {
      PrintError(excess);
      return kNeverFits;
    }
    if (const absl::Status labels = CheckLabels(); !labels.ok()) {
      return FailBeforeItRuns(labels);
    }
    job_id_ = created->id;
    return 0;
  }

  /// Nothing: another attempt of the step has given the job up meanwhile. `folder`, `attempt`: null
  /// without a step that has a key.
  std::optional<int> Submit(YarnStep* folder, StepAttempt* attempt) {
    const absl::StatusOr<rpc::Credentials> credentials = StageAndSubmit(folder);
    if (absl::IsAborted(credentials.status())) return std::nullopt;
    if (!credentials.ok()) {
      return FailBeforeItRuns(credentials.status());
    }
    if (step_ != nullptr) {
      step_->summary().job = job_id_;
      step_->summary().state = "SUBMITTED";
      step_->TellJob();
    }
    if (options_.detach) {
      WriteJobId(options_, job_id_, /*local_dir=*/"");
      TidyBriefly();
      return 0;
    }
    return Follow(*credentials, attempt);
  }

  absl::Status CheckLabels() {
    const jobfile::YarnSettings& yarn = job_.result.yarn;
    if (yarn.node_labels.empty()) return absl::OkStatus();
    TONY_ASSIGN_OR_RETURN(const std::set<std::string> labels, client_.NodeLabels());
    const std::string missing = LabelIsMissing(yarn, labels);
    return missing.empty() ? absl::OkStatus() : absl::InvalidArgumentError(missing);
  }

  /// Returns the credentials with which the client authenticates to the job's ApplicationMaster.
  /// Aborted – another attempt of the step has given the job up meanwhile.
  absl::StatusOr<rpc::Credentials> StageAndSubmit(YarnStep* folder) {
    const storage::JobFolder staged(
        absl::StrCat(storage::StagingFolder(job_.result.local.dir), "/", job_id_));
    TONY_ASSIGN_OR_RETURN(const os::UniqueFd guard, StageJob(job_, job_id_, staged));
    absl::StatusOr<rpc::Credentials> credentials =
        rpc::LoadCredentials(staged.client_credentials());
    absl::Status submitted = credentials.status();
    if (submitted.ok()) submitted = SubmitStaged(staged, folder);
    const absl::Status removed = os::RemoveTree(staged.root());
    if (!removed.ok()) PrintError(std::string(removed.message()));
    TONY_RETURN_IF_ERROR(submitted);
    return credentials;
  }

  /// A step that is told to end, or whose job was given up, is not submitted.
  absl::Status CheckWanted(YarnStep* folder) const {
    if (step_ == nullptr) return absl::OkStatus();
    TONY_RETURN_IF_ERROR(step_->CheckWanted());
    if (folder == nullptr) return absl::OkStatus();
    TONY_ASSIGN_OR_RETURN(const bool given_up, folder->IsGivenUp(job_id_));
    return given_up ? absl::AbortedError("another attempt of the step has given the job up")
                    : absl::OkStatus();
  }

  absl::Status SubmitStaged(const storage::JobFolder& staged, YarnStep* folder) {
    const absl::StatusOr<backend::ApplicationRequest> request =
        StageOnCluster(job_, job_id_, {.detached = options_.detach, .step = folder != nullptr},
                       staged, cluster_, clock_);
    absl::Status submitted = request.status();
    submitted.Update(CheckWanted(folder));
    if (submitted.ok()) {
      submitted = client_.Submit(*request);
      if (submitted.ok()) return submitted;
      const absl::StatusOr<bool> taken = WasTaken(submitted);
      if (taken.ok() && *taken) return absl::OkStatus();
      if (!taken.ok()) return Annotate(submitted, MayRun(taken.status()));
    }
    const absl::Status removed = RemoveFromCluster(job_id_, cluster_);
    // Where nothing may be written, nothing can be removed either; the same message is not told
    // twice.
    const bool same = removed.ok() || removed.message() == submitted.message();
    return same ? submitted : Annotate(submitted, std::string(removed.message()));
  }

  /// Whether YARN has the application although Submit() failed: only the answer may have been lost,
  /// and the application would then run without its files if these were removed. An error: nobody
  /// can say.
  absl::StatusOr<bool> WasTaken(const absl::Status& submitted) {
    // A remote exception is an answer, so YARN did not take the application.
    if (!hadoop::RemoteExceptionName(submitted).empty()) return false;
    const absl::Status known = client_.Report(job_id_).status();
    if (absl::IsNotFound(known)) return false;
    if (!known.ok()) return known;
    PrintError(absl::StrCat("YARN has taken ", job_id_,
                            ", though its answer was lost: ", std::string(submitted.message())));
    return true;
  }

  std::string MayRun(const absl::Status& unknown) const {
    return absl::StrCat("whether YARN has taken ", job_id_, " nobody says either (",
                        std::string(unknown.message()), "), so its files stay; ",
                        options_.detach
                            ? "it may run"
                            : "if it runs, then without a client for tony.client.lease at most",
                        ", and tony kill ", job_id_, " ends it");
  }

  int Follow(const rpc::Credentials& credentials, StepAttempt* attempt) {
    const jobfile::Configuration& conf = job_.configuration;
    // Tidies while the job runs. The end of the job stops it; the rest is left for the next
    // submission.
    const std::jthread tidying([this](const std::stop_token& stop) { Tidy(stop); });
    const auto make_source = [&](EventLoop& loop, const Clock& clock) {
      return std::make_unique<YarnMasterSource>(
          loop, clock, cluster_,
          YarnMasterSource::Options{
              .job_id = job_id_,
              .credentials = credentials,
              .exit_deadline = conf.GetDuration("tony.client.am-exit-timeout-ms"),
              .lease = conf.GetDuration("tony.client.lease"),
              .waiting_notice = conf.GetDuration("tony.am.waiting-notice-ms")});
    };
    const absl::StatusOr<core::Verdict> verdict =
        FollowJob(options_, environment_, conf,
                  {.id = job_id_,
                   .make_source = make_source,
                   .open_catalog = [&] { return YarnJobs::Open(cluster_); },
                   .step = step_ != nullptr ? step_->Following() : FollowedStep{}});
    if (attempt != nullptr) attempt->NoteEnd(job_id_, verdict);
    if (verdict.ok()) return core::ExitCode(*verdict);
    // InvalidArgument means that YARN refused the application, so nothing ever ran. In all other
    // cases there may be checkpoints, so nothing is removed.
    if (!absl::IsInvalidArgument(verdict.status())) {
      return FailWith(verdict.status(), ExitOf(verdict.status()));
    }
    const absl::Status removed = RemoveFromCluster(job_id_, cluster_);
    if (!removed.ok()) PrintError(std::string(removed.message()));
    return FailWith(verdict.status(), kBadUsage);
  }

  /// Tidies for a short time only, because a detached submission does not wait for its job.
  void TidyBriefly() const {
    std::stop_source stop;
    const std::future<void> tidied =
        std::async(std::launch::async, [&] { Tidy(stop.get_token()); });
    (void)tidied.wait_for(kBriefTidying);
    stop.request_stop();
  }

  void Tidy(const std::stop_token& stop) const {
    RemoveLostStaging(storage::StagingFolder(job_.result.local.dir));
    const backend::YarnCluster hasty = cluster_.WithTimeout(kTidyingTimeout);
    absl::Status tidied = RemoveRemainsOnCluster(hasty, clock_, stop).status();
    if (tidied.ok()) {
      tidied =
          RemoveUnusedFromCache(hasty, clock_, std::chrono::days(job_.result.yarn.cache_days), stop)
              .status();
    }
    if (tidied.ok()) {
      tidied =
          YarnStep::RemoveOld(hasty, clock_, std::chrono::days(job_.result.yarn.cache_days), stop);
    }
    if (!tidied.ok() && !stop.stop_requested()) {
      PrintError(
          absl::StrCat("what earlier jobs left is not tidied up this time, which does not "
                       "concern this one: ",
                       std::string(tidied.message())));
    }
  }

  const SystemClock clock_;
  const SubmitOptions& options_;
  const Environment& environment_;
  const jobfile::LoadedJob& job_;
  const backend::YarnCluster& cluster_;
  Step* const step_;  ///< null: the submission is no step of a workflow
  backend::ApplicationClient client_;
  std::string job_id_;
};

/// A step's folder in the cluster's file system. Not thread safe.
class YarnStepHome : public StepHome {
 public:
  YarnStepHome(YarnStep folder, std::unique_ptr<YarnJobs> jobs, const backend::YarnCluster& cluster,
               std::function<YarnSubmission()> make_submission)
      : folder_(std::move(folder)),
        jobs_(std::move(jobs)),
        cluster_(cluster),
        make_submission_(std::move(make_submission)),
        client_(cluster.application_client(), cluster.timeout()) {}

  absl::StatusOr<State> Look() override {
    TONY_ASSIGN_OR_RETURN(const YarnStep::Taken taken, folder_.Last());
    State state{.free = taken.number == 0, .attempts = taken.number};
    if (state.free) return state;
    state.holder = absl::StrCat("another attempt of the step is submitting '", taken.job, "'");
    const absl::StatusOr<backend::ApplicationReport> report = client_.Report(taken.job);
    if (!report.ok() && !absl::IsNotFound(report.status())) return report.status();
    if (!report.ok()) {
      TONY_ASSIGN_OR_RETURN(state.free, folder_.HasBegun(taken.job));
      if (!state.free) {
        TONY_ASSIGN_OR_RETURN(state.free, IsUnsubmitted(taken.job));
        return state;
      }
      // YARN has forgotten the job; its history says how it ended.
    }
    absl::StatusOr<StoredJob> last = jobs_->Find(taken.job);
    if (!last.ok() && !absl::IsNotFound(last.status())) return last.status();
    if (report.ok()) state.free = report->over();
    if (!last.ok()) return state;
    TONY_ASSIGN_OR_RETURN(state.reported, folder_.IsReported(taken.job));
    state.last = *std::move(last);
    return state;
  }

  absl::StatusOr<std::optional<int>> Launch(const State& state, StepAttempt& attempt) override {
    unknown_ = "";
    return make_submission_().RunStep(folder_, attempt, state.attempts + 1);
  }

  absl::Status MarkReported(const std::string& job_id) override {
    return folder_.MarkReported(job_id);
  }
  absl::Status RemoveCheckpoints() override { return folder_.RemoveCheckpoints(); }
  JobCatalog& jobs() override { return *jobs_; }
  absl::StatusOr<std::unique_ptr<JobCatalog>> OpenCatalog() override {
    return YarnJobs::Open(cluster_);
  }
  Duration pause() const override { return kLookPause; }
  int EndJob(const StoredJob& /*job*/, const absl::StatusOr<core::Verdict>& verdict) override {
    if (verdict.ok()) return core::ExitCode(*verdict);
    return FailWith(verdict.status(), ExitOf(verdict.status()));
  }

 private:
  /// Whether YARN will never get `job`, which it does not know: its attempt was given time to
  /// submit it, and it is given up.
  absl::StatusOr<bool> IsUnsubmitted(const std::string& job) {
    const TimePoint now = clock_.Now();
    if (std::exchange(unknown_, job) != job) unknown_since_ = now;
    if (now - unknown_since_ < kSubmitPatience) return folder_.IsGivenUp(job);
    return folder_.GiveUp(job);
  }

  const SystemClock clock_;
  YarnStep folder_;
  const std::unique_ptr<YarnJobs> jobs_;
  const backend::YarnCluster& cluster_;
  const std::function<YarnSubmission()> make_submission_;
  backend::ApplicationClient client_;
  std::string unknown_;  ///< the job that YARN did not know at the last look
  TimePoint unknown_since_{};
};

int RunYarnStep(const backend::YarnCluster& cluster, const Environment& environment,
                const jobfile::LoadedJob& loaded, Step& step) {
  absl::StatusOr<YarnStep> folder = YarnStep::Open(cluster, step.key());
  if (!folder.ok()) return FailBeforeItRuns(folder.status());
  jobfile::LoadedJob job = loaded;
  // The step's folder is known only where the cluster is.
  if (!job.configuration.IsSet("tony.application.checkpoint-dir")) {
    job.configuration.Set("tony.application.checkpoint-dir",
                          {.value = folder->checkpoints(),
                           .origin = {.layer = jobfile::Layer::kCommandLine, .file = "--step"}});
    job.result.job.checkpoint_dir = folder->checkpoints();
  }
  absl::StatusOr<std::unique_ptr<YarnJobs>> jobs = YarnJobs::Open(cluster);
  if (!jobs.ok()) return FailBeforeItRuns(jobs.status());
  YarnStepHome home(*std::move(folder), *std::move(jobs), cluster, [&] {
    return YarnSubmission(step.options(), environment, job, cluster, &step);
  });
  return StepAttempt(step, environment, job, home).Run();
}

}  // namespace

int RunYarnJob(const SubmitOptions& options, const Environment& environment,
               const jobfile::LoadedJob& job, Step* step) {
  const absl::StatusOr<backend::YarnCluster> cluster = FindCluster(environment, job.result.yarn);
  if (!cluster.ok()) {
    return FailBeforeItRuns(cluster.status());
  }
  if (step == nullptr || step->key().empty()) {
    return YarnSubmission(options, environment, job, *cluster, step).Run();
  }
  return RunYarnStep(*cluster, environment, job, *step);
}

}  // namespace tony::client
