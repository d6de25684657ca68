// The platform of an ApplicationMaster on the machine where its job was submitted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appmaster/options.h"
#include "appmaster/platform.h"
#include "backend/image/image_containers.h"
#include "backend/local/executor_starter.h"
#include "common/event_loop.h"
#include "os/files/unique_fd.h"
#include "pagedata/previous_run.h"

namespace tony::appmaster {

/// Keeps everything in the job's folder. Not thread safe: owned by the event loop.
class LocalPlatform : public Platform {
 public:
  /// `loop` must outlive this object.
  LocalPlatform(const Options& options, EventLoop& loop);

  std::string job_id() const override { return options_.job_id(); }
  std::string user() const override { return options_.user; }
  std::string backend_name() const override { return "local"; }
  const storage::JobFolder& folder() const override { return folder_; }
  TaskFolders folders() const override;
  bool detached() const override { return options_.detached; }
  bool signal_means_another() const override { return false; }
  Duration ClientLease(const core::Timeouts& timeouts) const override {
    return options_.leased ? timeouts.client_lease : Duration::zero();
  }
  std::string host() const override;
  rpc::Peers peers() const override { return rpc::Peers::kOwnUser; }

  absl::Status Claim() override;
  absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenFiles() override;
  bool files_take_time() const override { return false; }
  void Expect(int executors) override;
  absl::StatusOr<std::string> ReadAuthority() override;
  absl::StatusOr<std::unique_ptr<core::ClusterBackend>> MakeBackend(
      core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
      BackendSetup setup) override;
  absl::StatusOr<std::unique_ptr<PageEntry>> MakePageEntry(
      const PageParts& parts, const jobfile::BuildResult& built) override;
  std::vector<std::string> notes() const override { return notes_; }
  absl::Status Publish(const std::string& address) override;
  std::vector<std::string> executor_arguments() const override;
  void Conclude(const core::Verdict& verdict, std::function<void()> done) override;
  void CleanUp() override;

 protected:
  const Options& options() const { return options_; }

 private:
  /// Null: no file is given, or it has no token that can be used, which a note says then.
  std::shared_ptr<web::MetricsToken> MakeMetricsToken(const PageParts& parts);
  absl::StatusOr<std::shared_ptr<backend::ImageContainers>> MakeImages(
      const jobfile::BuildResult& built);

  const Options options_;
  EventLoop& loop_;
  const storage::JobFolder folder_;
  os::UniqueFd lock_;  ///< the lock on the job's folder, held as long as this process lives
  std::unique_ptr<backend::ExecutorStarter> executor_starter_;
  std::vector<std::string> notes_;
  std::unique_ptr<pagedata::PreviousRuns> previous_runs_;
};

}  // namespace tony::appmaster
