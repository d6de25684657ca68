// Lists each job's folder first, and asks the ResourceManager only about jobs whose folders hold
// transient files. Usually none do, so a submission costs one call for each job.
#include "client/yarn/yarn_remains.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// Number of jobs that are looked at, newest first.
constexpr size_t kMostChecked = 100;
constexpr std::chrono::hours kOldAge{24};

bool IsOld(storage::JobFiles& files, const std::string& folder, const Clock& clock) {
  const absl::StatusOr<storage::StoredFile> stored = files.Describe(folder);
  if (!stored.ok()) return false;
  const int64_t age = clock.UnixMillis() - stored->modified_millis;
  return age > std::chrono::milliseconds(kOldAge).count();
}

/// Whether the job belongs to `cluster`. A job of another cluster is left to that cluster.
absl::StatusOr<bool> IsOfCluster(storage::JobFiles& files, const std::string& folder,
                                 const backend::YarnCluster& cluster) {
  const auto name = files.Read(absl::StrCat(folder, "/", backend::kClusterFile));
  if (absl::IsNotFound(name.status())) return false;
  TONY_RETURN_IF_ERROR(name.status());
  return *name == cluster.Name();
}

bool IsTransient(const std::string& name) {
  return std::find(std::begin(backend::kTransientFiles), std::end(backend::kTransientFiles),
                   name) != std::end(backend::kTransientFiles);
}

}  // namespace

absl::StatusOr<int> RemoveRemainsOnCluster(const backend::YarnCluster& cluster, const Clock& clock,
                                           const std::stop_token& stop) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> names, files->List(backend::kJobsFolder));
  std::vector<std::string> jobs = backend::NewestApplications(std::move(names));
  if (jobs.size() > kMostChecked) jobs.resize(kMostChecked);
  backend::ApplicationClient client(cluster.application_client(), cluster.timeout());
  int untidy = 0;
  for (const std::string& id : jobs) {
    if (stop.stop_requested()) break;
    const std::string folder = backend::JobFolderName(id);
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(folder));
    if (std::none_of(names.begin(), names.end(), IsTransient)) continue;
    const absl::StatusOr<backend::ApplicationReport> report = client.Report(id);
    if (!report.ok() && !absl::IsNotFound(report.status())) return report.status();
    if (report.ok() && !report->over()) continue;
    if (!report.ok()) {
      // The ResourceManager does not know the application; it may be about to be submitted. So the
      // folder must be a day old.
      if (!IsOld(*files, folder, clock)) continue;
      TONY_ASSIGN_OR_RETURN(const bool ours, IsOfCluster(*files, folder, cluster));
      if (!ours) continue;
    }
    ++untidy;
    for (const char* name : backend::kTransientFiles) {
      if (stop.stop_requested()) break;
      TONY_RETURN_IF_ERROR(files->Remove(absl::StrCat(folder, "/", name)));
    }
  }
  return untidy;
}

}  // namespace tony::client
