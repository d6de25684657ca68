// The platform of an ApplicationMaster whose executors an external launcher starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appmaster/local_platform.h"
#include "appmaster/options.h"
#include "backend/launcher/launcher_backend.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "rpc/security/one_time_secrets.h"
#include "rpc/services/launch_service.h"
#include "rpc/services/master_server.h"
#include "rpc/services/voucher.h"

namespace tony::appmaster {

/// Keeps the job in its folder on the launcher's machine, as LocalPlatform does, and gives out
/// vouchers for the executors elsewhere (docs/design/launcher.md). Not thread safe: owned by the
/// event loop.
class LauncherPlatform : public LocalPlatform {
 public:
  /// `loop` must outlive this object. InvalidArgument – the launcher's descriptor is no packet
  /// socket.
  static absl::StatusOr<std::unique_ptr<LauncherPlatform>> Create(const Options& options,
                                                                  EventLoop& loop);

  std::string backend_name() const override { return "launcher"; }
  TaskFolders folders() const override;
  bool collects_logs() const override { return true; }
  std::string host() const override { return options().launcher_host; }
  rpc::Peers peers() const override;
  void Expect(int /*executors*/) override {}
  absl::StatusOr<std::unique_ptr<core::ClusterBackend>> MakeBackend(
      core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
      BackendSetup setup) override;
  void Localize(v1::StagedFiles& staged) override;
  void OnExecutorLeft(const std::string& container_id, const core::ContainerEnd& end) override {
    backend_->OnExecutorLeft(container_id, end);
  }

 private:
  LauncherPlatform(const Options& options, EventLoop& loop);
  absl::Status StartLaunchService(const BackendSetup& setup);
  absl::StatusOr<std::string> MakeVoucher(const std::string& container_id);
  void OnNewcomer(const rpc::Newcomer& newcomer, const rpc::LaunchService::Answer& answer);

  EventLoop& loop_;
  const SystemClock clock_;
  rpc::OneTimeSecrets secrets_;
  std::vector<backend::LauncherFile> files_;     ///< that each container needs
  std::string authority_pem_;                    ///< the certificate that executors check
  backend::LauncherBackend* backend_ = nullptr;  ///< not owned; the one that MakeBackend() made
  std::unique_ptr<rpc::LaunchService> service_;
  std::unique_ptr<rpc::MasterServer> server_;  ///< of service_
};

}  // namespace tony::appmaster
