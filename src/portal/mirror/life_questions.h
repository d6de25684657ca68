// Whether a job of a cluster that has recorded no end can still go on.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/application_client.h"
#include "storage/job_files.h"

namespace tony::portal {

/// The ResourceManager of one cluster. Plain data.
struct ResourceManagerAccess {
  std::string cluster;  ///< backend::ClusterName()
  hadoop::RpcClientOptions client;
  Duration timeout{0};  ///< of each call
  std::stop_token stop;
};

/// Asks a ResourceManager about jobs, some of which may be another cluster's with the same file
/// system, and looks at what the job's own files say of it. Blocks. Not thread safe.
class LifeQuestions {
 public:
  /// `files`: the folder with the jobs' folder in it; must outlive this. `manager`: nullopt, if
  /// none is known.
  LifeQuestions(storage::JobFiles& files, std::optional<ResourceManagerAccess> manager);

  /// Whether the job can do nothing any more. The codes of ApplicationClient::Report() and of
  /// storage::JobFiles.
  absl::StatusOr<bool> IsOver(const std::string& id);

 private:
  storage::JobFiles& files_;
  const std::string cluster_;
  std::optional<backend::ApplicationClient> client_;
};

}  // namespace tony::portal
