// The folder of a source is found again by the next portal, so its name is made of what tells the
// source from others.
#include "portal/mirror/mirror_source.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/archive_digest.h"
#include "portal/mirror/life_questions.h"

namespace tony::portal {
namespace {

/// A cluster that does not answer delays the jobs of its round for no longer than this, each call.
constexpr std::chrono::seconds kLongestCall{10};
/// Enough of a digest to tell a user's sources apart.
constexpr size_t kFolderLetters = 16;

std::string FolderOf(const std::string& index_folder, const std::vector<std::string>& parts) {
  os::Sha256 digest;
  for (const std::string& part : parts) digest.Update(part.c_str(), part.size() + 1);
  const absl::StatusOr<std::string> text = digest.Finish();
  return absl::StrCat(index_folder, "/clusters/",
                      text.ok() ? text->substr(0, kFolderLetters) : "cluster");
}

backend::YarnClusterOptions Patient(backend::YarnClusterOptions options) {
  options.timeout = std::min<Duration>(options.timeout, kLongestCall);
  return options;
}

FindCluster Finder(const backend::YarnClusterOptions& options,
                   const hadoop::Environment& environment) {
  return [options, environment](const std::stop_token& stop) {
    backend::YarnClusterOptions stopped = options;
    stopped.stop = stop;
    return backend::YarnCluster::Find(stopped, environment);
  };
}

absl::StatusOr<JobMirror::Cluster> OpenCluster(const backend::YarnCluster& cluster,
                                               const std::stop_token& stop) {
  JobMirror::Cluster opened;
  TONY_ASSIGN_OR_RETURN(opened.files, cluster.OpenStaging());
  const auto questions = std::make_shared<LifeQuestions>(
      *opened.files,
      ResourceManagerAccess{cluster.Name(), cluster.application_client(), cluster.timeout(), stop});
  opened.is_over = [questions](const std::string& id) { return questions->IsOver(id); };
  return opened;
}

}  // namespace

MirrorSource ClusterSource(const std::string& index_folder,
                           const backend::YarnClusterOptions& cluster,
                           const hadoop::Environment& environment) {
  const auto find = Finder(Patient(cluster), environment);
  return {.name = "The cluster",
          .jobs = "The cluster's jobs",
          .folder = FolderOf(index_folder, {cluster.conf_dir, cluster.staging_dir, cluster.user}),
          .rest = "they are in  tony list --backend yarn",
          .open = [find](const std::stop_token& stop) -> absl::StatusOr<JobMirror::Cluster> {
            TONY_ASSIGN_OR_RETURN(const backend::YarnCluster found, find(stop));
            return OpenCluster(found, stop);
          },
          .find_cluster = find};
}

MirrorSource LocationSource(const std::string& index_folder, const HdfsLocation& location,
                            const backend::YarnClusterOptions& hadoop,
                            const hadoop::Environment& environment) {
  return {.name = location.ToString(),
          .jobs = absl::StrCat("The jobs of ", location.ToString()),
          .folder = FolderOf(index_folder,
                             {"location", location.ToString(), hadoop.conf_dir, hadoop.user}),
          .rest = "they lie there",
          .open =
              [location, options = Patient(hadoop), environment](const std::stop_token& stop) {
                return OpenHdfsLocation(location, options, environment, stop);
              },
          .find_cluster = hadoop.conf_dir.empty() ? nullptr : Finder(Patient(hadoop), environment)};
}

}  // namespace tony::portal
