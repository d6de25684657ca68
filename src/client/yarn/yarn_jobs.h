// The user's jobs on a YARN cluster.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_cluster.h"
#include "client/catalog/job_catalog.h"
#include "client/remote_logs/live_logs.h"
#include "client/remote_logs/node_logs.h"
#include "history/recorded_events.h"
#include "rpc/services/job_client.h"
#include "storage/job_files.h"

namespace tony::client {

/// Combines the ResourceManager's reports with the histories that ApplicationMasters write into the
/// cluster's file system. A history is up to two seconds behind. Not thread safe.
class YarnJobs : public JobCatalog {
 public:
  /// Opens the cluster's staging folder. The codes of backend::YarnCluster::OpenStaging.
  static absl::StatusOr<std::unique_ptr<YarnJobs>> Open(backend::YarnCluster cluster);

  absl::StatusOr<std::vector<StoredJob>> List() override;
  absl::StatusOr<StoredJob> Find(const std::string& wish) override;
  absl::Status ReadEvents(const StoredJob& job, const history::UseEvent& use) override;
  absl::StatusOr<std::string> ReadMetrics(const StoredJob& job) override;
  absl::StatusOr<KeptStacks> ReadStacks(const StoredJob& job) override;
  /// Copies the selected logs: of a running job through its ApplicationMaster, of an ended job from
  /// where YARN collected them, and otherwise from the nodes. The copies are removed with this
  /// object.
  absl::StatusOr<Logs> FindLogs(const StoredJob& job, const LogRequest& request) override;
  /// Asks the ApplicationMaster to stop the job. Without one that can be asked, YARN kills the
  /// application.
  absl::Status Stop(const StoredJob& job, const StopWish& wish) override;
  absl::StatusOr<std::vector<StoredJob>> AwaitEnds(const std::vector<StoredJob>& jobs,
                                                   Duration limit) override;
  /// FailedPrecondition: the files of a cluster's job may hold checkpoints of later ones.
  absl::Status Remove(const StoredJob& job, bool checkpoints) override;
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> Connect(const StoredJob& job) override;

 private:
  using Reports = std::vector<backend::ApplicationReport>;

  explicit YarnJobs(backend::YarnCluster cluster);
  /// All of the user's reports, newest first. A report of an application that the ResourceManager
  /// has forgotten has only its id.
  absl::StatusOr<Reports> AllReports();
  /// Waits up to `wait` for the application's end; returns its last report. NotFound – YARN has
  /// forgotten the application; DeadlineExceeded – it goes on.
  absl::StatusOr<backend::ApplicationReport> AwaitEnd(const backend::ApplicationReport& report,
                                                      std::chrono::seconds wait);
  StoredJob Read(const backend::ApplicationReport& report);
  /// For a job that our ResourceManager does not know: notes the cluster to which it was submitted,
  /// if that is another one.
  void AddCluster(StoredJob& job);
  /// The containers whose logs are selected, as far as the job's events name them. Also writes the
  /// events into the folder of the logs.
  absl::StatusOr<std::vector<history::LogOrigin>> FindOrigins(
      const StoredJob& job, const history::LogSelection& selection);
  /// Copies the logs of a job that has an ApplicationMaster.
  absl::StatusOr<Logs> CopyRunningLogs(const StoredJob& job, rpc::JobClient& client,
                                       const LogRequest& request);
  absl::StatusOr<Logs> FollowLogs(const StoredJob& job, const LogRequest& request);
  /// Copies the logs of any other job.
  absl::StatusOr<Logs> CopyPastLogs(const StoredJob& job, const LogRequest& request);
  absl::StatusOr<rpc::Credentials> ReadCredentials(const std::string& id);
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> ConnectTo(
      const backend::ApplicationReport& report);

  const backend::YarnCluster cluster_;
  backend::ApplicationClient client_;
  std::unique_ptr<storage::JobFiles> files_;
  std::unique_ptr<NodeLogs> logs_;
  std::unique_ptr<LiveLogs> live_;  ///< uses logs_
};

}  // namespace tony::client
