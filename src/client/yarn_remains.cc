// A look into each job's folder, and a question about those that are not tidy.
#include "client/yarn_remains.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

bool IsTransient(const std::string& name) {
  return std::find(std::begin(backend::kTransientFiles), std::end(backend::kTransientFiles),
                   name) != std::end(backend::kTransientFiles);
}

}  // namespace

absl::StatusOr<int> RemoveRemainsOnCluster(const backend::YarnCluster& cluster) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<backend::JobFiles> files, cluster.OpenStaging());
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, files->List(backend::kJobsFolder));
  backend::ApplicationClient client(cluster.application_client(), cluster.timeout());
  int untidy = 0;
  for (const std::string& id : jobs) {
    if (!backend::IsApplicationId(id)) continue;
    const std::string folder = backend::JobFolderName(id);
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(folder));
    if (std::none_of(names.begin(), names.end(), IsTransient)) continue;
    const absl::StatusOr<backend::ApplicationReport> report = client.Report(id);
    if (!report.ok() && !absl::IsNotFound(report.status())) return report.status();
    if (report.ok() && !report->over()) continue;
    ++untidy;
    for (const char* name : backend::kTransientFiles) {
      TONY_RETURN_IF_ERROR(files->Remove(absl::StrCat(folder, "/", name)));
    }
  }
  return untidy;
}

}  // namespace tony::client
