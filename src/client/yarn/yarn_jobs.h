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

/// What the ResourceManager says of them, and what their ApplicationMasters have left in the
/// cluster's file system, where it is up to two seconds behind. Not thread safe.
class YarnJobs : public JobCatalog {
 public:
  /// The codes of backend::YarnCluster::OpenStaging.
  static absl::StatusOr<std::unique_ptr<YarnJobs>> Open(backend::YarnCluster cluster);

  absl::StatusOr<std::vector<StoredJob>> List() override;
  absl::StatusOr<StoredJob> Find(const std::string& wish) override;
  /// Copies what is selected: of a job that runs through its ApplicationMaster, of one that has
  /// ended from where YARN has collected it, of others what the nodes have. The copies go away with
  /// this object.
  absl::StatusOr<Logs> FindLogs(const StoredJob& job, const LogRequest& request) override;
  /// An application that has no ApplicationMaster to be asked is killed by YARN.
  absl::Status Stop(const StoredJob& job, const StopWish& wish) override;
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> Connect(const StoredJob& job) override;

 private:
  using Reports = std::vector<backend::ApplicationReport>;

  explicit YarnJobs(backend::YarnCluster cluster);
  /// Newest first; those that the ResourceManager has forgotten have their id only.
  absl::StatusOr<Reports> AllReports();
  /// The last report. NotFound – YARN has forgotten it; DeadlineExceeded – it goes on.
  absl::StatusOr<backend::ApplicationReport> AwaitEnd(const backend::ApplicationReport& report,
                                                      std::chrono::seconds wait);
  StoredJob Read(const backend::ApplicationReport& report);
  /// Of a job that our ResourceManager does not know: where it was submitted, if that was
  /// elsewhere.
  void AddCluster(StoredJob& job);
  /// The containers with logs that are selected, as far as the job's events tell. The events are
  /// left in the folder of the logs.
  absl::StatusOr<std::vector<LogOrigin>> FindOrigins(const StoredJob& job,
                                                     const history::LogSelection& selection);
  /// Of a job that has an ApplicationMaster.
  absl::StatusOr<Logs> CopyRunningLogs(const StoredJob& job, rpc::JobClient& client,
                                       const LogRequest& request);
  absl::StatusOr<Logs> FollowLogs(const StoredJob& job, const LogRequest& request);
  /// Of any other job.
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
