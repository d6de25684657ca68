// Construction in the order of dependence; destruction is its reverse.
#include "appmaster/application_master.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "backend/local/capacity_probe.h"
#include "backend/local/local_backend.h"
#include "backend/local_job_files.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/job/master_task.h"
#include "core/runtime/runtime.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/machine.h"
#include "os/reap_orphans.h"
#include "spec/job_builder.h"

namespace tony::appmaster {
namespace {

/// Everybody of a local job is on this machine, so nothing listens elsewhere.
constexpr char kLocalHost[] = "127.0.0.1";

/// Exit code of one that has been replaced.
constexpr int kDeposed = 3;

absl::StatusOr<v1::StagedFiles> ReadStaged(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  v1::StagedFiles staged;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &staged);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.ToString()));
  return staged;
}

/// The job as the client merged and validated it; the files that it names were looked for there.
absl::StatusOr<spec::BuildResult> ReadJob(const backend::JobFolder& folder) {
  spec::Sources sources;
  sources.job_file = folder.job_xml();
  sources.working_folder = "/";
  // The client may have taken it from its home folder, which is not this process's business.
  sources.overrides = {{"tony.local.dir", backend::LocalDir(folder), "the job's folder"}};
  spec::BuildResult result = spec::LoadJob(sources, spec::FileChecks::kOff).result;
  if (!result.ok()) return absl::InvalidArgumentError(spec::RenderProblems(result.problems));
  result.job = core::WithMasterTask(std::move(result.job));
  return result;
}

bool WantsGpus(const core::JobDescription& job) {
  for (const core::TaskType& type : job.types) {
    if (type.instances > 0 && type.resources.gpus > 0) return true;
  }
  return false;
}

}  // namespace

ApplicationMaster::ApplicationMaster(Options options, EventLoop& loop)
    : options_(std::move(options)),
      loop_(loop),
      folder_(options_.job_folder),
      client_(options_.client_fd) {}

absl::StatusOr<std::unique_ptr<ApplicationMaster>> ApplicationMaster::Create(Options options,
                                                                             EventLoop& loop) {
  auto master = std::unique_ptr<ApplicationMaster>(new ApplicationMaster(std::move(options), loop));
  TONY_RETURN_IF_ERROR(master->Open());
  return master;
}

absl::Status ApplicationMaster::Open() {
  TONY_ASSIGN_OR_RETURN(lock_, os::LockFile(folder_.am_lock()));
  TONY_ASSIGN_OR_RETURN(spec::BuildResult built, ReadJob(folder_));
  TONY_RETURN_IF_ERROR(OpenJournal(std::move(built.job)));
  // What outlives an executor and its keeper comes to this process.
  os::BecomeSubreaper();
  executor_starter_ = std::make_unique<backend::ExecutorStarter>(
      options_.executor_path, options_.job_id(),
      machine_->tasks().size() - machine_->tasks().bound());
  TONY_ASSIGN_OR_RETURN(v1::StagedFiles staged, ReadStaged(folder_.staged()));
  TONY_RETURN_IF_ERROR(os::MakeFolders(folder_.checkpoints()));
  assignments_ =
      std::make_unique<Assignments>(options_.job_id(), journal_->incarnation(), machine_->job(),
                                    built.local, folder_, std::move(staged));
  TONY_RETURN_IF_ERROR(OpenHistory());
  TONY_RETURN_IF_ERROR(OpenServer());
  return OpenBackend(built.local);
}

absl::Status ApplicationMaster::OpenJournal(core::JobDescription job) {
  TONY_ASSIGN_OR_RETURN(
      Journal journal,
      Journal::Open(std::make_unique<backend::LocalJobFiles>(folder_.root()), clock_));
  journal_ = std::make_unique<Journal>(std::move(journal));
  machine_ = std::make_unique<core::JobMachine>(std::move(job));
  for (const Journal::Past& past : journal_->TakePast()) {
    for (const core::Decision& decision : past.decisions) machine_->Replay(decision, past.at);
  }
  return absl::OkStatus();
}

absl::Status ApplicationMaster::OpenHistory() {
  TONY_ASSIGN_OR_RETURN(History history, History::Open(folder_.events(), clock_, event_log_));
  history_ = std::make_unique<History>(std::move(history));
  if (!history_->empty()) return absl::OkStatus();
  const core::JobDescription& job = machine_->job();
  core::JobSubmitted submitted;
  submitted.job_id = options_.job_id();
  submitted.name = job.name;
  submitted.user = options_.user;
  submitted.framework = core::FrameworkName(job.framework);
  submitted.backend = "local";
  for (const core::TaskType& type : job.types) {
    const bool tracked = type.tracking == core::Tracking::kTracked;
    submitted.types.push_back({type.name, type.instances, tracked});
  }
  submitted.log_folder = folder_.logs();
  history_->Record(std::move(submitted));
  return absl::OkStatus();
}

absl::Status ApplicationMaster::OpenServer() {
  TONY_ASSIGN_OR_RETURN(const std::string pem, rpc::ReadSecretFile(folder_.authority()));
  TONY_ASSIGN_OR_RETURN(rpc::CertificateAuthority authority, rpc::CertificateAuthority::Load(pem));
  authority_ = std::make_unique<rpc::CertificateAuthority>(std::move(authority));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                        authority_->Issue(rpc::ApplicationMasterRole(options_.job_id())));
  executor_service_ =
      std::make_unique<rpc::ExecutorService>(options_.job_id(), [this](core::JobInput input) {
        loop_.Post([this, input = std::move(input)] { runner_->Take(input); });
      });
  rpc::JobService::Callbacks callbacks;
  callbacks.on_stop = [this](const std::string& reason) {
    loop_.Post([this, reason] { Stop(core::Reason::kKilledByUser, reason); });
  };
  callbacks.on_owner_attached = [this] { loop_.Post([this] { OnOwnerAttached(); }); };
  callbacks.on_owner_gone = [this] {
    loop_.Post([this] {
      Stop(core::Reason::kClientGone, "The client that submitted the job went away without a word");
    });
  };
  job_service_ = std::make_unique<rpc::JobService>(options_.job_id(), event_log_, callbacks);
  runner_ = std::make_unique<JobRunner>(
      *machine_, JobRunner::Ports{loop_, clock_, *journal_, *history_, *executor_service_,
                                  *authority_, folder_, *assignments_, [this] { OnFinished(); },
                                  [this](const std::string& why) { OnDeposed(why); }});
  TONY_ASSIGN_OR_RETURN(server_, rpc::MasterServer::Start(kLocalHost, credentials, *job_service_,
                                                          *executor_service_));
  runner_->set_master_address(server_->address());
  return absl::OkStatus();
}

absl::Status ApplicationMaster::OpenBackend(const spec::LocalSettings& local) {
  TONY_ASSIGN_OR_RETURN(const os::Machine machine, os::ReadMachine());
  backend::LocalBackendOptions options;
  options.job_id = options_.job_id();
  options.job_folder = folder_;
  options.ledger_folder = backend::LedgerFolder(local.dir);
  options.executor_path = options_.executor_path;
  options.start_executor = [this](const os::SubprocessRequest& request) {
    return executor_starter_->Start(request);
  };
  options.other_children = [this] { return executor_starter_->Helpers(); };
  options.environment = options_.environment;
  options.host_id = machine.boot_id;
  options.ledger_timeout = local.ledger_timeout;
  options.kill_timeout = machine_->job().timeouts.container_kill;
  options.capacity = backend::ProbeCapacity(local, machine, WantsGpus(machine_->job()));
  backend_ = std::make_unique<backend::LocalBackend>(loop_, std::move(options), *runner_);
  runner_->set_backend(backend_.get());
  return absl::OkStatus();
}

absl::Status ApplicationMaster::Start() {
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder_.am_address(), server_->address()));
  if (client_.valid()) {
    // An ApplicationMaster that was started again may find nobody there who waits for it.
    (void)os::WriteAll(client_.get(), "ready\n", 6, "the client's socket");
    if (options_.detached) {
      client_.Reset();
    } else {
      client_watch_ = loop_.WatchReadable(client_.get(), [this] { OnOwnerLost(); });
    }
  }
  if (history_->ended()) {
    // An earlier one has done it all, but for going.
    loop_.Post([this] { OnFinished(); });
  } else {
    runner_->Apply(core::input::Start{journal_->incarnation()});
  }
  return absl::OkStatus();
}

void ApplicationMaster::OnSignal(int number) {
  if (finished_) return loop_.Stop();
  Stop(core::Reason::kMasterStopped,
       absl::StrCat("The ApplicationMaster was told to end by signal ", number));
}

void ApplicationMaster::Stop(core::Reason reason, const std::string& sentence) {
  runner_->Apply(core::input::StopRequested{reason, sentence});
}

void ApplicationMaster::OnOwnerAttached() {
  // From now on the stream tells of its end.
  client_watch_.reset();
  if (finished_) loop_.Stop();
}

void ApplicationMaster::OnOwnerLost() {
  client_watch_.reset();
  if (finished_) return loop_.Stop();
  Stop(core::Reason::kClientGone,
       "The client that submitted the job went away before it had connected");
}

void ApplicationMaster::OnFinished() {
  finished_ = true;
  event_log_.Close();
  // A job may be over before its client has connected, who is to read the verdict all the same.
  if (client_watch_ == nullptr) loop_.Stop();
}

void ApplicationMaster::OnDeposed(const std::string& why) {
  LogError(absl::StrCat("this ApplicationMaster leaves without a trace: ", why));
  _exit(kDeposed);
}

ApplicationMaster::~ApplicationMaster() {
  // No input may arrive while the rest goes away.
  if (server_ != nullptr) server_->Shutdown(machine_->job().timeouts.last_events);
  backend_.reset();
  // Without the lock the folder is that of another ApplicationMaster.
  if (lock_.valid()) CleanUp();
}

void ApplicationMaster::CleanUp() {
  for (const std::string& path : folder_.transient()) {
    const absl::Status removed = os::RemoveTree(path);
    if (!removed.ok()) LogWarning(std::string(removed.message()));
  }
}

}  // namespace tony::appmaster
