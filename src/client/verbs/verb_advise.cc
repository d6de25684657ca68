// `tony advise`: what a job's settings cost it, and which lines of the job file would be better.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/durations.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/verbs.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "core/advice/advice_json.h"
#include "core/record/duration_text.h"
#include "history/metric_file.h"

namespace tony::client {
namespace {

/// The job's metrics; without any, `reservation` says why.
core::JobMetrics MetricsOf(JobCatalog& jobs, const StoredJob& job, std::string& reservation) {
  const absl::StatusOr<std::string> bytes = jobs.ReadMetrics(job);
  absl::StatusOr<history::StoredMetrics> stored =
      bytes.ok() ? history::MetricsFromBytes(*bytes) : bytes.status();
  if (stored.ok()) {
    if (!stored->reading.trouble.empty()) {
      reservation = absl::StrCat("Not all metrics can be read: ", stored->reading.trouble);
    }
    return std::move(stored->metrics);
  }
  reservation = absl::IsNotFound(stored.status())
                    ? "No metrics of this job are kept: its programs have not run long enough, or "
                      "an earlier version of tony has run it"
                    : absl::StrCat("The job's metrics cannot be read: ",
                                   std::string(stored.status().message()));
  return core::JobMetrics({});
}

std::string AdviceText(const core::Advice& advice) {
  std::string text =
      absl::StrCat(core::AdviceSeverityName(advice.severity), "  ", SafeText(advice.heuristic),
                   "\n  ", SafeText(advice.sentence), ".\n  Seen: ", SafeText(advice.evidence),
                   ".\n  Rule: ", SafeText(advice.formula), ".\n");
  if (!advice.cost.empty()) absl::StrAppend(&text, "  Cost: ", SafeText(advice.cost), ".\n");
  for (const core::AdviceLine& line : advice.lines) {
    absl::StrAppend(&text, "  ", SafeText(line.key), " = ", SafeText(line.value), "\n");
  }
  return text;
}

void PrintText(const StoredJob& job, const core::JobAdvice& advice,
               const std::vector<std::string>& reservations, const VerbContext& context) {
  std::string text =
      absl::StrCat(SafeText(job.id), "  ", job.job.StateName(), ", ",
                   core::FormatDuration(job.job.RunningMillis(context.clock->UnixMillis())), "\n");
  for (const core::Advice& each : advice.advice) absl::StrAppend(&text, "\n", AdviceText(each));
  if (advice.advice.empty()) absl::StrAppend(&text, "There is nothing to advise.\n");
  for (const std::string& reservation : reservations) {
    absl::StrAppend(&text, SafeText(reservation), ".\n");
  }
  context.out(text);
}

absl::StatusOr<int> RunAdvise(const CommandLine& line, const VerbContext& context) {
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  core::AdviceGate gate;
  if (line.Has("after")) {
    TONY_ASSIGN_OR_RETURN(const Duration after, ParseDuration("after", line.Value("after"), "60s"));
    gate.least_run_millis = after / std::chrono::milliseconds(1);
  }
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs->Find(wish));
  std::string reservation;
  const core::JobMetrics metrics = MetricsOf(*jobs, job, reservation);
  const core::JobAdvice advice =
      core::AdviseJob(core::JobFacts(job.job, metrics, context.clock->UnixMillis(), gate));
  std::vector<std::string> reservations;
  for (const std::string& each : {reservation, advice.reservation}) {
    if (!each.empty()) reservations.push_back(each);
  }
  if (line.Has("json")) {
    nlohmann::ordered_json json = {{"id", job.id}};
    json.update(core::AdviceJson(advice));
    json["reservations"] = reservations;
    context.bytes(DumpJson(json));
  } else if (line.Has("xml")) {
    context.bytes(core::AdviceXml(advice.advice));
    for (const std::string& each : reservations) Say(context, each);
  } else {
    PrintText(job, advice, reservations, context);
  }
  return kVerbDone;
}

}  // namespace

Verb AdviseVerb() {
  return {
      "advise",
      "[JOB]",
      "what a job's settings cost it, and better lines for its job file",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\nNothing is advised that was not seen; for most questions the programs have to "
      "have run for five minutes.\n",
      {{"xml", "", false, "print only the lines for the job file"},
       {"after", "SECONDS", false,
        "judge programs that have run for so long, e.g. 60s (default: 5m)"}},
      1,
      &RunAdvise};
}

}  // namespace tony::client
