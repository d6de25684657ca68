// A job that no ResourceManager vouches for is taken for a living one as long as its client's
// certificate is there, which its ApplicationMaster removes at the end.
#include "portal/mirror/life_questions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"

namespace tony::portal {

LifeQuestions::LifeQuestions(storage::JobFiles& files, std::optional<ResourceManagerAccess> manager)
    : files_(files), cluster_(manager ? manager->cluster : "") {
  if (manager) client_.emplace(std::move(manager->client), manager->timeout, manager->stop);
}

absl::StatusOr<bool> LifeQuestions::IsOver(const std::string& id) {
  const std::string folder = backend::JobFolderName(id);
  if (client_) {
    const absl::StatusOr<backend::ApplicationReport> report = client_->Report(id);
    if (report.ok()) return report->over();
    if (!absl::IsNotFound(report.status())) return report.status();
    TONY_ASSIGN_OR_RETURN(const std::string home,
                          files_.Read(absl::StrCat(folder, "/", backend::kClusterFile)));
    if (home == cluster_) return true;
  }
  const absl::Status lives =
      files_.Describe(absl::StrCat(folder, "/", backend::kClientFile)).status();
  if (absl::IsNotFound(lives)) return true;
  TONY_RETURN_IF_ERROR(lives);
  return false;
}

}  // namespace tony::portal
