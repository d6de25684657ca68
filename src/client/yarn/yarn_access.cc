// tony.yarn.conf-dir comes before HADOOP_CONF_DIR. A verdict made from a report says in its
// sentence that the job's own record of its end was not available.
#include "client/yarn/yarn_access.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace tony::client {

backend::YarnClusterOptions HadoopOptions(const Environment& environment,
                                          const jobfile::YarnSettings& yarn) {
  backend::YarnClusterOptions options;
  options.conf_dir = yarn.conf_dir.empty() ? environment.hadoop_conf_dir : yarn.conf_dir;
  options.staging_dir = yarn.staging_dir;
  options.user = environment.hadoop_user;
  options.home = environment.home;
  options.given = environment.hadoop_values;
  options.token_file = environment.token_file;
  options.timeout = yarn.timeout;
  return options;
}

absl::StatusOr<backend::YarnClusterOptions> OptionsOfCluster(const Environment& environment,
                                                             const jobfile::YarnSettings& yarn) {
  backend::YarnClusterOptions options = HadoopOptions(environment, yarn);
  if (!options.conf_dir.empty()) return options;
  return absl::FailedPreconditionError(
      "nothing says where the YARN cluster is; set HADOOP_CONF_DIR, or tony.yarn.conf-dir, to "
      "the folder of its core-site.xml and yarn-site.xml");
}

absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const jobfile::YarnSettings& yarn) {
  TONY_ASSIGN_OR_RETURN(const backend::YarnClusterOptions options,
                        OptionsOfCluster(environment, yarn));
  return backend::YarnCluster::Find(options, EnvironmentVariable);
}

std::string DiagnosticsOf(const backend::ApplicationReport& report) {
  return absl::StrJoin(
      absl::StrSplit(report.diagnostics, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty()), " ");
}

std::optional<core::Verdict> VerdictOf(const backend::ApplicationReport& report) {
  const std::string diagnostics = DiagnosticsOf(report);
  if (report.state == backend::ApplicationState::kKilled) {
    return core::Verdict{
        .outcome = core::Outcome::kKilled,
        .reason = core::Reason::kKilledByUser,
        .sentence = absl::StrCat("YARN has killed the application: ", diagnostics)};
  }
  if (report.state != backend::ApplicationState::kFinished) return std::nullopt;
  core::Verdict verdict;
  std::string ended;
  switch (report.final_status) {
    case backend::FinalStatus::kUnknown:
      return std::nullopt;
    case backend::FinalStatus::kSucceeded:
      verdict.outcome = core::Outcome::kSucceeded;
      verdict.reason = core::Reason::kTasksSucceeded;
      ended = "succeeded";
      break;
    case backend::FinalStatus::kFailed:
      // The report does not say whose fault the failure was; only the job's events would.
      verdict.outcome = core::Outcome::kFailed;
      verdict.reason = core::Reason::kBackendFailed;
      ended = "failed";
      break;
    case backend::FinalStatus::kKilled:
      verdict.outcome = core::Outcome::kKilled;
      verdict.reason = core::Reason::kKilledByUser;
      ended = "was killed";
      break;
  }
  verdict.sentence = absl::StrCat("YARN says that the job ", ended,
                                  "; what it has recorded of its end cannot be had: ", diagnostics);
  return verdict;
}

}  // namespace tony::client
