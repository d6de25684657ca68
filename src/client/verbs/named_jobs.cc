// A YARN application's id names its backend, so each name is checked against the first one's.
#include "client/verbs/named_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backend/yarn/application_client.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "common/status_macros.h"
#include "core/record/verdict.h"

namespace tony::client {

absl::StatusOr<NamedJobs> FindNamedJobs(const CommandLine& line, const VerbContext& context,
                                        const std::vector<std::string>& wishes) {
  NamedJobs named;
  TONY_ASSIGN_OR_RETURN(named.catalog, OpenJobs(line, context, wishes.front()));
  const bool on_cluster = backend::IsApplicationId(wishes.front());
  for (const std::string& wish : wishes) {
    if (!line.Has("backend") && backend::IsApplicationId(wish) != on_cluster) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", wishes.front(), "' and '", wish,
                       "' may be on different backends; name the jobs of each one by themselves"));
    }
    TONY_ASSIGN_OR_RETURN(StoredJob job, named.catalog->Find(wish));
    const bool known = std::any_of(named.jobs.begin(), named.jobs.end(),
                                   [&job](const StoredJob& other) { return other.id == job.id; });
    if (!known) named.jobs.push_back(std::move(job));
  }
  return named;
}

absl::Status AsBadUsage(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::InvalidArgumentError(status.message()) : status;
}

int ExitStatusOf(const StoredJob& job) {
  return job.ended() ? core::ExitCode(*job.job.view.verdict) : static_cast<int>(kVerbFailed);
}

std::string EndLine(const StoredJob& job) {
  const std::string& sentence = job.ended() ? job.job.view.verdict->sentence : job.sentence;
  return absl::StrCat(SafeText(job.id), "  ", job.job.StateName(),
                      sentence.empty() ? "" : absl::StrCat(": ", SafeText(sentence)), "\n");
}

void PrintJobsJson(const std::vector<StoredJob>& jobs, size_t names, const VerbContext& context) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StoredJob& job : jobs) json.push_back(JobToJson(job, false));
  context.bytes(DumpJson(names == 1 && jobs.size() == 1 ? json[0] : json));
}

}  // namespace tony::client
