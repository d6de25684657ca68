#include "client/workflow/step.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/durations.h"
#include "client/cli/environment.h"
#include "client/cli/messages.h"
#include "client/workflow/local_step.h"
#include "client/workflow/step_key.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "os/files/wait_readable.h"

namespace tony::client {
namespace {

/// The lease of a step's job: Airflow takes 5 minutes to notice that a worker is lost.
constexpr char kLease[] = "600000";
constexpr char kOrigin[] = "--step";
constexpr char kNotSubmitted[] = "NOT_SUBMITTED";

/// The texts that distinguish the job from another one of the same step: all options but the
/// program's archive, which may be a new file each time.
std::vector<std::string> Describe(const SubmitOptions& options) {
  std::vector<std::string> words = {options.job_file};
  for (const jobfile::Override& override : options.overrides) {
    if (override.key == "tony.application.src-dir") continue;
    words.push_back(absl::StrCat(override.key, "=", override.value));
  }
  return words;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> Step::Begin(const SubmitOptions& options) {
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  TONY_ASSIGN_OR_RETURN(Workflow workflow,
                        FindWorkflow(EnvironmentVariable, Describe(options), folder));
  // Airflow tells a command nothing about its job, and Azkaban's properties are one.
  const bool has_job = options.names_job || workflow.describes_job;
  if (!options.step && (workflow.system.empty() || !has_job)) return nullptr;
  std::unique_ptr<Step> step(new Step(options, std::move(workflow)));
  TONY_RETURN_IF_ERROR(step->ReadOptions());
  return step;
}

absl::Status Step::ReadOptions() {
  options_.step = true;
  if (!options_.json && !options_.quiet && !options_.detach && !options_.logs) options_.logs = "";
  if (options_.json || options_.quiet || options_.detach) options_.logs.reset();
  key_ = options_.step_key.empty() ? workflow_.key : options_.step_key;
  if (!key_.empty()) TONY_RETURN_IF_ERROR(CheckStepKey(key_));
  TONY_ASSIGN_OR_RETURN(on_existing_, ParseOnExisting(options_.on_existing));
  if (options_.stop_wait) {
    TONY_ASSIGN_OR_RETURN(stop_wait_, ParseDuration("stop-wait", *options_.stop_wait, "4"));
  }
  options_.overrides.insert(options_.overrides.begin(), workflow_.overrides.begin(),
                            workflow_.overrides.end());
  if (options_.job_file.empty()) options_.job_file = workflow_.job_file;
  summary_.step_key = key_;
  summary_.links = workflow_.links;
  summary_.state = kNotSubmitted;
  summary_.attempt = 1;
  for (const std::string& note : workflow_.notes) PrintError(absl::StrCat("note: ", note));
  return absl::OkStatus();
}

absl::Status Step::AddDefaults(const jobfile::LoadedJob& job) {
  if (key_.empty()) return absl::OkStatus();
  if (!job.configuration.IsSet("tony.client.lease")) {
    options_.overrides.push_back({"tony.client.lease", kLease, kOrigin});
  }
  const bool local = job.result.backend == jobfile::Backend::kLocal;
  if (local && !job.configuration.IsSet("tony.application.checkpoint-dir")) {
    TONY_ASSIGN_OR_RETURN(const LocalStep folder, LocalStep::Open(job.result.local.dir, key_));
    options_.overrides.push_back(
        {"tony.application.checkpoint-dir", folder.checkpoints(), kOrigin});
  }
  return absl::OkStatus();
}

FollowedStep Step::Following() {
  return {.is_step = true,
          .parent_fd = parent_.fd(),
          .stops_with_parent = workflow_.stops_with_parent || key_.empty(),
          .stop_wait = stop_wait_,
          .on_listening = [this] { signals_.Release(); }};
}

absl::Status Step::Pause(Duration pause) const {
  (void)os::WaitReadable(parent_.fd(), pause);
  return CheckWanted();
}

absl::Status Step::CheckWanted() const {
  if (HeldSignals::Waiting() != 0) {
    return absl::CancelledError("told to end by a signal before the job began");
  }
  if (os::WaitReadable(parent_.fd(), Duration::zero())) {
    return absl::CancelledError("the workflow's process that had started tony-submit is gone");
  }
  return absl::OkStatus();
}

void Step::TellJob() {
  WriteLines(/*over=*/false);
  SaveSummary();
}

void Step::TakeEnd(const StoredJob& job) {
  summary_.state = job.job.StateName();
  summary_.verdict = job.job.view.verdict;
  summary_.error = job.sentence;
  for (const core::JobView::Task& task : job.job.view.tasks) {
    const core::TaskChanged& last = task.last;
    if (!last.exit || last.exit->reported.empty()) continue;
    if (summary_.metrics.empty() || last.task.type == "chief")
      summary_.metrics = last.exit->reported;
  }
  if (job.job.view.visualization) summary_.tensorboard = job.job.view.visualization->url;
}

int Step::Fail(const absl::Status& why, int exit_code) {
  summary_.error = std::string(why.message());
  return FailWith(why, exit_code);
}

int Step::End(int exit_code) {
  if (std::exchange(ended_, true)) return exit_code;
  summary_.exit_code = exit_code;
  if (!summary_.job.empty()) WriteLines(/*over=*/true);
  SaveSummary();
  SaveOutputs();
  return exit_code;
}

void Step::WriteLines(bool over) const {
  if (options_.json || options_.detach) return;
  // Azkaban looks for application ids in the log: the job's own stands alone.
  std::string text = absl::StrCat("Job ", summary_.job);
  if (!key_.empty()) absl::StrAppend(&text, " of step ", SafeText(key_));
  absl::StrAppend(&text, "\n");
  if (over) {
    absl::StrAppend(&text, "tony logs ", summary_.job, " has all that its tasks printed\n");
  } else if (!summary_.page.empty()) {
    absl::StrAppend(&text, "Page ", summary_.page, " (tony open ", summary_.job, " lets you in)\n");
  }
  for (const WorkflowLink& link : summary_.links) {
    absl::StrAppend(&text, SafeText(link.name), " ", SafeText(link.url), "\n");
  }
  WriteOut(text);
}

void Step::Tell(const std::string& text) const {
  options_.json || options_.detach ? PrintError(text) : WriteOut(absl::StrCat(text, "\n"));
}

// Azkaban reads the file after a success only, and removes it after a failure, when the lines of
// the log have to do.
void Step::SaveOutputs() const {
  if (workflow_.outputs.empty() || summary_.job.empty()) return;
  std::vector<std::pair<std::string, std::string>> outputs;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) outputs.emplace_back(workflow_.output_prefix + name, value);
  };
  add("job", summary_.job);
  add("page", summary_.page);
  add("tensorboard", summary_.tensorboard);
  if (summary_.verdict) add("verdict", core::OutcomeName(summary_.verdict->outcome));
  add("exit", absl::StrCat(summary_.exit_code.value_or(0)));
  for (const auto& [name, value] : summary_.metrics) add("metric." + name, value);
  std::string text;
  for (const auto& [name, value] : outputs) {
    absl::StrAppend(&text, SafeText(name), " ", SafeText(value), "\n");
  }
  if (!options_.json && !options_.detach) WriteOut(text);
  const absl::Status written = WriteAzkabanOutputs(workflow_.outputs, outputs);
  if (!written.ok()) {
    PrintError(
        absl::StrCat("the outputs for the following steps cannot be written "
                     "(JOB_OUTPUT_PROP_FILE), which changes nothing for the job: ",
                     std::string(written.message())));
  }
}

void Step::SaveSummary() const {
  if (options_.summary.empty()) return;
  const absl::Status written = WriteSummary(summary_, options_.summary);
  if (!written.ok()) {
    PrintError(absl::StrCat("the summary cannot be written (--summary), which changes nothing for ",
                            "the job: ", std::string(written.message())));
  }
}

}  // namespace tony::client
