// The job's folder is this machine's; certificates, files and logs are not taken from it, since the
// executors are elsewhere.
#include "appmaster/launcher_platform.h"

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/unique_fd.h"
#include "rpc/security/certificate_authority.h"

namespace tony::appmaster {
namespace {

/// How long a voucher is valid. The executor of a launcher that has had no room for longer is
/// refused and ends, and its order goes out again.
constexpr std::chrono::minutes kVoucherLife{10};

/// The folder of the job's archives in each container's working folder.
constexpr char kArchivesFolder[] = ".tony/archives/";

/// Only on this address are all peers programs of this machine, whose user the kernel tells.
constexpr char kLoopback[] = "127.0.0.1";

}  // namespace

LauncherPlatform::LauncherPlatform(const Options& options, EventLoop& loop)
    : LocalPlatform(options, loop), loop_(loop) {}

absl::StatusOr<std::unique_ptr<LauncherPlatform>> LauncherPlatform::Create(const Options& options,
                                                                           EventLoop& loop) {
  TONY_RETURN_IF_ERROR(backend::PacketSocket::Check(options.launcher_fd));
  return std::unique_ptr<LauncherPlatform>(new LauncherPlatform(options, loop));
}

// Logs and unpacked archives lie in the containers' own folders.
TaskFolders LauncherPlatform::folders() const { return {"", folder().checkpoints(), ""}; }

rpc::Peers LauncherPlatform::peers() const {
  return host() == kLoopback ? rpc::Peers::kOwnUser : rpc::Peers::kAnyHost;
}

void LauncherPlatform::Localize(v1::StagedFiles& staged) {
  for (v1::StagedFiles::Entry& entry : *staged.mutable_entries()) {
    const std::string path = entry.archive().path();
    std::string name = absl::StrCat(kArchivesFolder, path.substr(path.rfind('/') + 1));
    entry.mutable_archive()->set_path(name);
    files_.push_back({std::move(name), path});
  }
}

absl::Status LauncherPlatform::StartLaunchService(const BackendSetup& setup) {
  TONY_ASSIGN_OR_RETURN(const std::string pem, ReadAuthority());
  TONY_ASSIGN_OR_RETURN(const rpc::CertificateAuthority authority,
                        rpc::CertificateAuthority::Load(pem));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials own,
                        authority.Issue(rpc::ApplicationMasterRole(job_id())));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials peer, authority.Issue(rpc::ClientRole(job_id())));
  authority_pem_ = peer.ca_pem;
  rpc::LaunchService::Callbacks callbacks;
  callbacks.on_newcomer = [this](const rpc::Newcomer& newcomer, rpc::LaunchService::Answer answer) {
    loop_.Post([this, newcomer, answer = std::move(answer)] { OnNewcomer(newcomer, answer); });
  };
  callbacks.on_second_use = [this, note = setup.note](const std::string& sentence) {
    loop_.Post([note, sentence] {
      LogError(sentence);
      note(sentence);
    });
  };
  service_ = std::make_unique<rpc::LaunchService>(job_id(), clock_, secrets_, callbacks);
  TONY_ASSIGN_OR_RETURN(server_,
                        rpc::MasterServer::StartForNewcomers(host(), peers(), own, *service_));
  LogInfo("listening for executors with vouchers",
          {{"job", job_id()}, {"address", server_->address()}});
  return absl::OkStatus();
}

absl::StatusOr<std::string> LauncherPlatform::MakeVoucher(const std::string& container_id) {
  rpc::Voucher voucher{
      .container_id = container_id, .address = server_->address(), .authority_pem = authority_pem_};
  TONY_ASSIGN_OR_RETURN(voucher.secret, secrets_.Make(container_id, clock_.Now() + kVoucherLife));
  return rpc::FormatVoucher(voucher);
}

void LauncherPlatform::OnNewcomer(const rpc::Newcomer& newcomer,
                                  const rpc::LaunchService::Answer& answer) {
  server_->Admit(newcomer.peer);
  backend_->OnRedeemed({.id = newcomer.container_id,
                        .host = newcomer.host,
                        .host_id = newcomer.host_id,
                        .gpus = newcomer.gpus,
                        .executor = newcomer.process},
                       answer);
}

absl::StatusOr<std::unique_ptr<core::ClusterBackend>> LauncherPlatform::MakeBackend(
    core::ClusterBackend::Listener& listener, const jobfile::BuildResult& /*built*/,
    BackendSetup setup) {
  TONY_RETURN_IF_ERROR(StartLaunchService(setup));
  backend::LauncherBackendOptions options;
  options.job_id = job_id();
  options.incarnation = setup.incarnation;
  options.socket = os::UniqueFd(this->options().launcher_fd);
  options.files = files_;
  options.make_voucher = [this](const std::string& id) { return MakeVoucher(id); };
  options.void_voucher = [this](const std::string& id) { secrets_.Forget(id); };
  options.on_lost = [lost = setup.lost](const std::string& why) {
    lost(absl::StrCat("The launcher that starts the job's executors is gone: ", why));
  };
  auto made = std::make_unique<backend::LauncherBackend>(loop_, std::move(options), listener);
  backend_ = made.get();
  return made;
}

}  // namespace tony::appmaster
