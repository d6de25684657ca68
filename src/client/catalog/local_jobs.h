// Serves the jobs of this machine to the verbs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/catalog/job_catalog.h"
#include "client/jobs/job_store.h"
#include "common/clock.h"
#include "os/files/files.h"

namespace tony::client {

/// JobStore behind the interface JobCatalog. Not thread safe.
class LocalJobs : public JobCatalog {
 public:
  /// `clock` outlives this.
  LocalJobs(std::string local_dir, const Clock& clock)
      : store_(std::move(local_dir)), clock_(clock) {}

  absl::StatusOr<std::vector<StoredJob>> List() override { return store_.List(); }
  absl::StatusOr<StoredJob> Find(const std::string& wish) override { return store_.Find(wish); }
  absl::Status ReadEvents(const StoredJob& job, const history::UseEvent& use) override;
  absl::StatusOr<std::string> ReadMetrics(const StoredJob& job) override {
    return os::ReadFile(job.folder.metrics());
  }
  absl::StatusOr<KeptStacks> ReadStacks(const StoredJob& job) override;
  absl::StatusOr<Logs> FindLogs(const StoredJob& job, const LogRequest& /*request*/) override {
    return Logs{job.folder, /*live=*/true, ""};
  }
  absl::Status Stop(const StoredJob& job, const StopWish& wish) override;
  absl::StatusOr<std::vector<StoredJob>> AwaitEnds(const std::vector<StoredJob>& jobs,
                                                   Duration limit) override;
  absl::Status Remove(const StoredJob& job, bool checkpoints) override;
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> Connect(const StoredJob& job) override;

 private:
  const JobStore store_;
  const Clock& clock_;
};

}  // namespace tony::client
