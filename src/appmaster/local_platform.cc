// Assembles the local backend's parts: the job's folder, its lock, the executor starter.
#include "appmaster/local_platform.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/local/capacity_probe.h"
#include "backend/local/ledger_choice.h"
#include "backend/local/local_backend.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "jobfile/values/bearer_token.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "os/machine/machine.h"
#include "os/processes/reap_orphans.h"
#include "pagedata/folder_job_logs.h"
#include "pagedata/folder_logs.h"
#include "rpc/security/credentials.h"
#include "storage/local_job_files.h"

namespace tony::appmaster {
namespace {

/// All processes of a local job are on this machine, so no other address is listened on.
constexpr char kLocalHost[] = "127.0.0.1";

bool WantsGpus(const core::JobDescription& job) {
  return std::any_of(job.types.begin(), job.types.end(), [](const core::TaskType& type) {
    return type.instances > 0 && type.resources.gpus > 0;
  });
}

}  // namespace

LocalPlatform::LocalPlatform(const Options& options, EventLoop& loop)
    : options_(options), loop_(loop), folder_(options_.job_folder) {
  // An executor that outlives the job must not keep the page's port.
  for (const int page : options_.page_fds) ::fcntl(page, F_SETFD, FD_CLOEXEC);
}

TaskFolders LocalPlatform::folders() const {
  return {folder_.logs(), folder_.checkpoints(), folder_.cache()};
}

std::string LocalPlatform::host() const { return kLocalHost; }

absl::Status LocalPlatform::Claim() {
  // The folder must be the user's own, because files in it are executed.
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle folder, os::OpenOwnFolder(folder_.root()));
  TONY_ASSIGN_OR_RETURN(lock_, os::LockFile(folder_.am_lock()));
  struct stat info;
  if (::stat(folder_.authority().c_str(), &info) != 0 && errno == ENOENT) {
    LogInfo("the job is over: its remains are removed", {{"job", options_.job_id()}});
    CleanUp();
    return absl::CancelledError("the job is over; what was left of it is removed");
  }
  return os::MakeFolders(folder_.checkpoints());
}

absl::StatusOr<std::unique_ptr<storage::JobFiles>> LocalPlatform::OpenFiles() {
  return std::make_unique<storage::LocalJobFiles>(folder_.root());
}

void LocalPlatform::Expect(int executors) {
  // As a subreaper, this process becomes the parent of whatever outlives an executor and its
  // keeper.
  os::BecomeSubreaper();
  executor_starter_ = std::make_unique<backend::ExecutorStarter>(options_.executor_path,
                                                                 options_.job_id(), executors);
}

absl::StatusOr<std::string> LocalPlatform::ReadAuthority() {
  return rpc::ReadSecretFile(folder_.authority());
}

absl::StatusOr<std::unique_ptr<core::ClusterBackend>> LocalPlatform::MakeBackend(
    core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
    BackendSetup /*setup*/) {
  const jobfile::LocalSettings& local = built.local;
  TONY_ASSIGN_OR_RETURN(const os::Machine machine, os::ReadMachine());
  backend::LocalBackendOptions options;
  options.job_id = options_.job_id();
  options.job_folder = folder_;
  TONY_ASSIGN_OR_RETURN(options.ledger, backend::ChooseLedger(local, folder_));
  if (std::string note = backend::UnseenJobsNote(local, options.ledger); !note.empty()) {
    notes_.push_back(std::move(note));
  }
  options.inherited_fds = options_.lock_fds;
  options.executor_path = options_.executor_path;
  options.start_executor = [this](const os::SubprocessRequest& request) {
    return executor_starter_->Start(request);
  };
  options.other_children = [this] { return executor_starter_->Helpers(); };
  options.environment = options_.environment;
  if (!built.images.by_type.empty()) {
    TONY_ASSIGN_OR_RETURN(options.images, MakeImages(built));
    // The monitors of containers become this process's children without its knowledge.
    options.other_children = nullptr;
  }
  options.host_id = machine.boot_id;
  options.kill_timeout = built.job.timeouts.container_kill;
  options.capacity = backend::ProbeCapacity(local, machine, WantsGpus(built.job));
  for (std::string& note : backend::ForeignGpuNotes(options.capacity, options.ledger)) {
    notes_.push_back(std::move(note));
  }
  return std::make_unique<backend::LocalBackend>(loop_, std::move(options), listener);
}

absl::StatusOr<std::shared_ptr<backend::ImageContainers>> LocalPlatform::MakeImages(
    const jobfile::BuildResult& built) {
  backend::ImageContainers::Options options;
  options.settings = built.images;
  options.job_folder = folder_;
  options.user = options_.user;
  if (absl::StartsWith(built.job.checkpoint_dir, "/")) {
    options.writable_folders.push_back(built.job.checkpoint_dir);
  }
  TONY_ASSIGN_OR_RETURN(
      options.engine,
      backend::FindEngine(built.images.engine, backend::EngineFolders(options_.environment)));
  TONY_ASSIGN_OR_RETURN(options.runtime, backend::PrepareRuntime(built.local.dir));
  return std::make_shared<backend::ImageContainers>(loop_, std::move(options));
}

absl::StatusOr<std::unique_ptr<PageEntry>> LocalPlatform::MakePageEntry(
    const PageParts& parts, const jobfile::BuildResult& built) {
  previous_runs_ = std::make_unique<pagedata::PreviousRuns>(
      parts.loop, pagedata::RunWish{std::filesystem::path(folder_.root()).parent_path(),
                                    options_.job_id(), built.job.name});
  PageParts with_past = parts;
  with_past.previous = [this](web::JobSource::TakePrevious take) {
    previous_runs_->Find(std::move(take));
  };
  if (options_.page_fds.size() == 2)
    with_past.sockets = {options_.page_fds[0], options_.page_fds[1]};
  with_past.metrics_token = MakeMetricsToken(parts);
  auto entry = std::make_unique<LocalPageEntry>(with_past, folder_.page_visits(), [this, parts] {
    return PageLogs{std::make_unique<pagedata::FolderLogs>(folder_),
                    std::make_unique<pagedata::FolderJobLogs>(parts.loop, parts.clock, folder_)};
  });
  entry->Resume();
  entry->ServeMetrics();
  return entry;
}

// The job does not depend on who watches it, so it goes on without the token.
std::shared_ptr<web::MetricsToken> LocalPlatform::MakeMetricsToken(const PageParts& parts) {
  const std::string& file = parts.metrics_token_file;
  if (file.empty()) return nullptr;
  absl::StatusOr<std::string> token = rpc::ReadSecretFile(file);
  if (token.ok()) token = jobfile::ParseBearerToken(*token, file);
  if (token.ok()) return std::make_shared<web::MetricsToken>(parts.clock, *std::move(token));
  notes_.push_back(absl::StrCat("the job's metrics cannot be read with a token: ",
                                std::string(token.status().message())));
  return nullptr;
}

absl::Status LocalPlatform::Publish(const std::string& address) {
  return os::WriteFileAtomically(folder_.am_address(), address);
}

std::vector<std::string> LocalPlatform::executor_arguments() const {
  return {absl::StrCat("--address-file=", folder_.am_address()),
          absl::StrCat("--open-files=", options_.open_files)};
}

void LocalPlatform::Conclude(const core::Verdict&, std::function<void()> done) { done(); }

void LocalPlatform::CleanUp() {
  // Without the lock the folder belongs to another ApplicationMaster.
  if (!lock_.valid()) return LogDebug("nothing is removed: the job is another one's");
  for (const std::string& path : folder_.transient()) {
    const absl::Status removed = os::RemoveTree(path);
    if (!removed.ok()) LogWarning(std::string(removed.message()));
  }
}

}  // namespace tony::appmaster
