// Keeps the copies of a cluster's jobs as new as the cluster shows them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "portal/mirror/job_mirror.h"

namespace tony::portal {

/// The folder, below that of the index, for the copies of this cluster's jobs.
std::string MirrorFolder(const std::string& index_folder,
                         const backend::YarnClusterOptions& cluster);

/// The files and the ResourceManager of a cluster. The codes of backend::YarnCluster::Find() and
/// OpenStaging(). Blocks.
absl::StatusOr<JobMirror::Cluster> OpenCluster(const backend::YarnClusterOptions& options,
                                               const hadoop::Environment& environment);

/// Runs a JobMirror on a thread, with a pause after each round. A cluster that cannot be reached is
/// tried again. Thread safe.
class MirrorThread {
 public:
  static constexpr std::chrono::seconds kPause{3};

  /// `clock` must outlive this. `say` is called on the thread with why the copies are not as new as
  /// they should be, or with an empty text; only when that changes.
  MirrorThread(std::string folder, backend::YarnClusterOptions cluster,
               hadoop::Environment environment, const Clock& clock,
               std::function<void(const std::string& trouble)> say);
  /// Ends the thread after the call to the cluster that is under way.
  ~MirrorThread();
  MirrorThread(const MirrorThread&) = delete;
  MirrorThread& operator=(const MirrorThread&) = delete;

 private:
  void Run();
  /// One round; returns what is to be said of it.
  std::string Round();

  const std::string folder_;
  const backend::YarnClusterOptions cluster_;
  const hadoop::Environment environment_;
  const Clock& clock_;
  const std::function<void(const std::string&)> say_;
  std::unique_ptr<JobMirror> mirror_;  ///< null: the cluster could not be opened yet
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::thread thread_;  ///< last, because it uses the members above
};

}  // namespace tony::portal
