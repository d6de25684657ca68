// The platform of an ApplicationMaster in a YARN container.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appmaster/options.h"
#include "appmaster/platform.h"
#include "backend/yarn/yarn_backend.h"
#include "common/event_loop.h"
#include "hadoop/auth/token_file.h"
#include "pagedata/previous_run.h"
#include "tony/v1/yarn.pb.h"

namespace tony::appmaster {

/// Keeps what must last in the cluster's file system, reads secrets from the container's token
/// file, and keeps the rest in the container's working folder. Not thread safe: owned by the event
/// loop.
class YarnPlatform : public Platform {
 public:
  /// Reads what the client sent along, for a process that YARN has started. `loop` must outlive
  /// this object. NotFound, InvalidArgument, DataLoss – the token file is missing, malformed or
  /// damaged.
  static absl::StatusOr<std::unique_ptr<YarnPlatform>> Create(const Options& options,
                                                              EventLoop& loop);

  std::string job_id() const override { return job_.job_id(); }
  std::string user() const override { return job_.user(); }
  std::string backend_name() const override { return "yarn"; }
  const storage::JobFolder& folder() const override { return folder_; }
  TaskFolders folders() const override;
  std::string own_log_folder() const override { return yarn_.log_folder; }
  std::string own_log_url() const override;
  bool detached() const override { return job_.detached(); }
  /// True: a signal means that the container is preempted or its node is stopped. If the
  /// application was killed instead, YARN itself reports that.
  bool signal_means_another() const override { return true; }
  Duration ClientLease(const core::Timeouts& timeouts) const override {
    return detached() ? Duration::zero() : timeouts.client_lease;
  }
  std::string host() const override { return yarn_.node_host; }
  /// Executors are on other nodes, and the client may be another user of this node.
  rpc::Peers peers() const override { return rpc::Peers::kAnyHost; }

  absl::Status ClaimStep() override;
  absl::Status Claim() override;
  absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenFiles() override;
  bool files_take_time() const override { return true; }
  void Expect(int /*executors*/) override {}
  absl::StatusOr<std::string> ReadAuthority() override;
  absl::StatusOr<std::unique_ptr<core::ClusterBackend>> MakeBackend(
      core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
      BackendSetup setup) override;
  std::string public_page_url() const override;
  absl::StatusOr<std::unique_ptr<PageEntry>> MakePageEntry(
      const PageParts& parts, const jobfile::BuildResult& built) override;
  absl::Status Publish(const std::string& address) override;
  std::vector<std::string> executor_arguments() const override;
  void Conclude(const core::Verdict& verdict, std::function<void()> done) override;
  void CleanUp() override;

 private:
  YarnPlatform(Options::Yarn yarn, v1::YarnJob job, hadoop::TokenStore tokens, EventLoop& loop);
  /// The numeric addresses of the hosts of YARN's proxy.
  std::vector<std::string> ProxyAddresses() const;
  /// The access check for the page at `port`, seen through a proxy at `proxy_addresses`.
  std::unique_ptr<web::Access> MakeAccess(int port, std::vector<std::string> proxy_addresses,
                                          const std::string& viewers) const;
  absl::StatusOr<std::string> TokensFor(const std::string& secret) const;

  const Options::Yarn yarn_;
  const v1::YarnJob job_;
  const hadoop::TokenStore tokens_;
  EventLoop& loop_;
  const storage::JobFolder folder_;
  std::string page_url_;  ///< the page's URL, for the proxy; empty: there is no page
  std::unique_ptr<pagedata::PreviousRuns> previous_runs_;
  backend::YarnBackend* backend_ = nullptr;  ///< not owned; the backend that MakeBackend() made
};

}  // namespace tony::appmaster
