#include "client/workflow/step_attempt.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/exit_status.h"
#include "client/cli/messages.h"
#include "client/follow/attached_source.h"
#include "client/follow/follow_job.h"
#include "client/jobs/job_json.h"
#include "client/show/job_table.h"
#include "client/workflow/step_rules.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// How long an attempt waits for another one, or for the end of its job.
constexpr std::chrono::minutes kPatience{15};
/// How long the ApplicationMaster may take to name its page.
constexpr std::chrono::seconds kPagePatience{2};

}  // namespace

int StepAttempt::Run() {
  const int exit_code = step_.End(RunToEnd());
  if (ended_job_.empty()) return exit_code;
  const absl::Status marked = home_.MarkReported(ended_job_);
  if (!marked.ok()) PrintError(std::string(marked.message()));
  return exit_code;
}

int StepAttempt::RunToEnd() {
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + kPatience;
  while (true) {
    const absl::StatusOr<std::optional<int>> ended = Try();
    if (!ended.ok()) return step_.Fail(ended.status(), ExitOf(ended.status()));
    if (*ended) return **ended;
    if (clock.Now() > deadline) {
      return step_.Fail(absl::DeadlineExceededError(
                            absl::StrCat("waited ", kPatience.count(), " minutes: ", waited_for_,
                                         "; tony steps shows the step, tony kill ends "
                                         "its job")),
                        kInfrastructure);
    }
    const absl::Status wanted = step_.Pause(home_.pause());
    if (!wanted.ok()) return step_.Fail(wanted, kKilled);
  }
}

absl::StatusOr<std::optional<int>> StepAttempt::Try() {
  TONY_ASSIGN_OR_RETURN(const StepHome::State state, home_.Look());
  return state.free ? Begin(state) : Join(state);
}

absl::StatusOr<std::optional<int>> StepAttempt::Begin(const StepHome::State& state) {
  const LastJob last = state.last ? StateOfLastJob(*state.last) : LastJob::kNone;
  const StepAction action = ChooseStepAction(last, state.reported, step_.on_existing());
  if (action == StepAction::kReport) return Report(state);
  if (action == StepAction::kSubmitAnew) TONY_RETURN_IF_ERROR(home_.RemoveCheckpoints());
  if (last == LastJob::kFailed) {
    step_.Tell(absl::StrCat("The step's last job '", state.last->id, "' is ",
                            state.last->job.StateName(), "; the new one finds its checkpoints"));
  }
  TONY_RETURN_IF_ERROR(step_.CheckWanted());
  return home_.Launch(state, *this);
}

absl::StatusOr<std::optional<int>> StepAttempt::Join(const StepHome::State& state) {
  if (!state.last) return Wait(state.holder);
  const StoredJob& last = *state.last;
  // A job that has no process may be about to get one, or to leave the step to others.
  if (!last.alive && !last.ended()) return Wait(state.holder);
  switch (ChooseStepAction(StateOfLastJob(last), state.reported, step_.on_existing())) {
    case StepAction::kAdopt:
      return Adopt(state);
    case StepAction::kReport:
      return Report(state);
    case StepAction::kRefuse:
      return step_.Fail(
          absl::AlreadyExistsError(absl::StrCat(
              "the step has a job that runs, '", last.id,
              "' (--on-existing=fail); tony kill ends it, --on-existing=adopt follows it")),
          kBadUsage);
    case StepAction::kStopFirst:
      Stop(last);
      return Wait(absl::StrCat("the step's last job '", last.id, "' is being stopped"));
    default:
      return Wait(absl::StrCat("the step's last job '", last.id, "' is ending"));
  }
}

std::optional<int> StepAttempt::Wait(const std::string& sentence) {
  if (std::exchange(waited_for_, sentence) != sentence) {
    PrintError(absl::StrCat("waiting: ", sentence));
  }
  return std::nullopt;
}

void StepAttempt::Stop(const StoredJob& last) {
  // DeadlineExceeded: it was told, and the end is awaited by looking again.
  const absl::Status asked = home_.jobs().Stop(
      last, {.reason = "Stopped by the next attempt of the step (--on-existing=stop)",
             .ask_limit = job_.configuration.GetDuration("tony.client.stop-timeout-ms")});
  if (asked.ok() || absl::IsDeadlineExceeded(asked)) return;
  (void)Wait(
      absl::StrCat("the step's last job cannot be stopped yet: ", std::string(asked.message())));
}

absl::StatusOr<std::optional<int>> StepAttempt::Report(const StepHome::State& state) {
  TakeJob(state.last->id, /*adopted=*/true, state.attempts);
  step_.TakeEnd(*state.last);
  step_.Tell("An earlier attempt of the step has submitted this job, which has ended meanwhile");
  if (step_.options().json) {
    WriteJobId(step_.options(), state.last->id, home_.local_dir());
    WriteBytes(DumpJsonLine(EndToJson(state.last->id, *state.last->job.view.verdict)));
  } else {
    WriteOut(RenderVerdict(state.last->job.view, Screen{}));
  }
  ended_job_ = state.last->id;
  return core::ExitCode(*state.last->job.view.verdict);
}

std::optional<int> StepAttempt::Adopt(const StepHome::State& state) {
  const StoredJob& last = *state.last;
  TakeJob(last.id, /*adopted=*/true, state.attempts + 1);
  step_.Tell("An earlier attempt of the step has submitted this job, which runs: it is adopted");
  const absl::StatusOr<core::Verdict> verdict = Follow(last);
  if (step_.options().detach) return 0;
  const bool lost = !verdict.ok() && !absl::IsCancelled(verdict.status());
  if (lost) {
    return Wait(absl::StrCat("the adopted job '", last.id,
                             "' was lost: ", std::string(verdict.status().message())));
  }
  NoteEnd(last.id, verdict);
  return home_.EndJob(last, verdict);
}

int StepAttempt::FollowOwn(const StoredJob& job, int attempt) {
  TakeJob(job.id, /*adopted=*/false, attempt);
  const absl::StatusOr<core::Verdict> verdict = Follow(job);
  if (step_.options().detach) return 0;
  NoteEnd(job.id, verdict);
  return home_.EndJob(job, verdict);
}

void StepAttempt::TakeJob(const std::string& id, bool adopted, int attempt) {
  StepSummary& summary = step_.summary();
  summary.job = id;
  summary.adopted = adopted;
  summary.attempt = attempt;
  summary.checkpoint_dir = job_.result.job.checkpoint_dir;
}

void StepAttempt::NoteEnd(const std::string& job_id, const absl::StatusOr<core::Verdict>& verdict) {
  step_.HoldSignals();
  const absl::StatusOr<StoredJob> end = home_.jobs().Find(job_id);
  if (end.ok()) step_.TakeEnd(*end);
  if (verdict.ok()) ended_job_ = job_id;
}

void StepAttempt::FindPage(const StoredJob& job) {
  const absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = home_.jobs().Connect(job);
  if (!client.ok()) return;
  const absl::StatusOr<std::string> url = (*client)->OpenPage(kPagePatience);
  // The code is for one visit, and links are kept.
  if (url.ok()) step_.summary().page = url->substr(0, url->find('?'));
}

absl::StatusOr<core::Verdict> StepAttempt::Follow(const StoredJob& job) {
  FindPage(job);
  step_.summary().state = job.job.StateName();
  step_.TellJob();
  if (step_.options().detach) {
    WriteJobId(step_.options(), job.id, home_.local_dir());
    return absl::CancelledError("the job goes on");
  }
  const FollowedJob followed{.id = job.id,
                             .make_source =
                                 [this, &job](EventLoop& loop, const Clock&) {
                                   return std::make_unique<AttachedSource>(loop, home_.jobs(), job);
                                 },
                             .open_catalog = [this] { return home_.OpenCatalog(); },
                             .local_dir = home_.local_dir(),
                             .step = step_.Following()};
  return FollowJob(step_.options(), environment_, job_.configuration, followed);
}

}  // namespace tony::client
