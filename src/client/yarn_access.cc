// Settings first, then the environment.
#include "client/yarn_access.h"

#include "absl/strings/str_cat.h"

namespace tony::client {

absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const spec::YarnSettings& yarn) {
  backend::YarnClusterOptions options;
  options.conf_dir = yarn.conf_dir.empty() ? environment.hadoop_conf_dir : yarn.conf_dir;
  if (options.conf_dir.empty()) {
    return absl::FailedPreconditionError(
        "nothing says where the YARN cluster is; set HADOOP_CONF_DIR, or tony.yarn.conf-dir, to "
        "the folder of its core-site.xml and yarn-site.xml");
  }
  options.staging_dir = yarn.staging_dir;
  options.user = environment.hadoop_user;
  options.home = environment.home;
  options.timeout = yarn.timeout;
  return backend::YarnCluster::Find(options, EnvironmentVariable);
}

core::Verdict KilledByYarn(const std::string& diagnostics) {
  core::Verdict verdict;
  verdict.outcome = core::Outcome::kKilled;
  verdict.reason = core::Reason::kKilledByUser;
  verdict.sentence = absl::StrCat("YARN has killed the application: ", diagnostics);
  return verdict;
}

}  // namespace tony::client
