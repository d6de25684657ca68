// Members are constructed in the order of their dependencies and torn down in reverse.
#include "appmaster/application_master.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "appmaster/record/final_advice.h"
#include "appmaster/record/journal.h"
#include "appmaster/record/journal_thread.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "core/runtime/collective.h"
#include "core/runtime/runtime.h"
#include "jobfile/job/job_builder.h"
#include "os/files/files.h"
#include "os/machine/machine.h"
#include "pagedata/config_keys.h"
#include "pagedata/job_traits.h"
#include "rpc/convert/event_lines.h"
#include "rpc/convert/log_piece.h"
#include "rpc/security/derived_secret.h"
#include "storage/archived_events.h"

namespace tony::appmaster {
namespace {

/// Limit on the notes of clients, so that no client can make the history long.
constexpr int kMostClientsNotes = 20;
/// Limit on the notes about commands in tasks.
constexpr int kMostExecNotes = 100;

/// How long the readers of this process's own log may take to receive the end of it.
constexpr std::chrono::seconds kReportPatience{1};

/// Purpose from which the secret key of the job's ranks is derived.
constexpr char kCollectivePurpose[] = "tony.collective";

/// Exit code of an ApplicationMaster that has been replaced or will be.
constexpr int kDeposed = 3;

absl::StatusOr<v1::StagedFiles> ReadStaged(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  v1::StagedFiles staged;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &staged);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.ToString()));
  return staged;
}

/// The job as the client merged and validated it. File checks are off, because the client has
/// already looked for the files that the job names.
absl::StatusOr<jobfile::LoadedJob> ReadJob(const storage::JobFolder& folder) {
  jobfile::Sources sources;
  sources.job_file = folder.job_xml();
  sources.working_folder = std::string("/");
  // The client may have taken this setting from its home folder, which this process does not read.
  sources.overrides = {{"tony.local.dir", storage::LocalDir(folder), "the job's folder"}};
  jobfile::LoadedJob loaded = jobfile::LoadJob(sources, jobfile::FileChecks::kOff);
  jobfile::BuildResult& result = loaded.result;
  if (!result.ok()) return absl::InvalidArgumentError(jobfile::RenderProblems(result.problems));
  result.job = core::WithMasterTask(std::move(result.job));
  return loaded;
}

/// Descriptors per task: its executor's connection, and its process or what stands for it.
constexpr uint64_t kFilesPerTask = 2;
/// Descriptors of the ApplicationMaster itself.
constexpr uint64_t kOwnFiles = 32;

/// Checked at the start, because a shortage of descriptors would show in the middle of the job, as
/// lost containers.
absl::Status CheckOpenFiles(uint64_t tasks) {
  const uint64_t needed = tasks * kFilesPerTask + kOwnFiles;
  if (OpenFilesLimit() >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a job of ", tasks, " tasks needs ", needed,
                   " open files in its ApplicationMaster, which may have ", OpenFilesLimit(),
                   "; raise the hard limit (ulimit -Hn, or LimitNOFILE= of the NodeManager)"));
}

}  // namespace

ApplicationMaster::ApplicationMaster(Options options, std::unique_ptr<Platform> platform,
                                     EventLoop& loop)
    : platform_(std::move(platform)),
      loop_(loop),
      predecessor_(std::move(options.predecessor)),
      client_(options.client_fd) {}

absl::StatusOr<std::unique_ptr<ApplicationMaster>> ApplicationMaster::Create(
    Options options, std::unique_ptr<Platform> platform, EventLoop& loop) {
  auto master = std::unique_ptr<ApplicationMaster>(
      new ApplicationMaster(std::move(options), std::move(platform), loop));
  TONY_RETURN_IF_ERROR(master->Open());
  return master;
}

absl::Status ApplicationMaster::Open() {
  // The claim comes first: until it succeeds, the job's files may belong to another
  // ApplicationMaster. The journal comes before everything that depends on where the job stands.
  TONY_RETURN_IF_ERROR(platform_->Claim());
  TONY_ASSIGN_OR_RETURN(const jobfile::LoadedJob loaded, ReadJob(platform_->folder()));
  const jobfile::BuildResult& built = loaded.result;
  TONY_ASSIGN_OR_RETURN(const LogLevel level,
                        ParseLogLevel(absl::AsciiStrToLower(
                            loaded.configuration.GetText("tony.application.log-level"))));
  SetLogLevel(level);
  TONY_RETURN_IF_ERROR(OpenJournal(built.job, loaded.configuration));
  TONY_RETURN_IF_ERROR(CheckOpenFiles(machine_->tasks().size()));
  platform_->Expect(machine_->tasks().size() - machine_->tasks().bound());
  TONY_ASSIGN_OR_RETURN(v1::StagedFiles staged, ReadStaged(platform_->folder().staged()));
  platform_->Localize(staged);
  TONY_RETURN_IF_ERROR(OpenHistory());
  OpenAlerts(loaded.configuration);
  TONY_RETURN_IF_ERROR(OpenMetrics(loaded.configuration));
  TONY_ASSIGN_OR_RETURN(const std::string authority, platform_->ReadAuthority());
  TONY_ASSIGN_OR_RETURN(std::string collective_key,
                        rpc::DeriveSecret(authority, kCollectivePurpose));
  assignments_ = std::make_unique<Assignments>(platform_->job_id(), journal_->incarnation(),
                                               machine_->job(), built.local, platform_->folders(),
                                               std::move(staged), std::move(collective_key));
  std::vector<std::string> executor_arguments = platform_->executor_arguments();
  if (loaded.configuration.GetBoolean("tony.task.collective-package")) {
    executor_arguments.push_back("--collective-package");
  }
  if (loaded.configuration.GetBoolean("tony.task.stacks")) {
    executor_arguments.push_back("--stacks");
  }
  const Duration silence_note = loaded.configuration.GetDuration("tony.task.silence-note");
  if (silence_note > Duration::zero()) {
    executor_arguments.push_back(
        absl::StrCat("--silence-note-ms=", silence_note / std::chrono::milliseconds(1)));
  }
  if (level != LogLevel::kInfo) {
    executor_arguments.push_back(absl::StrCat("--log-level=", LogLevelName(level)));
  }
  TONY_RETURN_IF_ERROR(OpenServer(authority, std::move(executor_arguments)));
  TONY_RETURN_IF_ERROR(OpenFeeds(loaded.configuration, authority));
  TONY_RETURN_IF_ERROR(OpenLogCollector());
  return OpenBackend(loaded);
}

absl::Status ApplicationMaster::OpenJournal(core::JobDescription job,
                                            const jobfile::Configuration& configuration) {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, platform_->OpenFiles());
  // Old measurements are only a convenience, so an unreadable file counts as empty.
  const std::string usage = files->Read(storage::kUsageFile).value_or("");
  if (usage.empty()) LogDebug("there are no earlier measurements", {{"job", platform_->job_id()}});
  TONY_ASSIGN_OR_RETURN(Journal journal, Journal::Open(std::move(files), clock_, os::BootId()));
  machine_ = std::make_unique<core::JobMachine>(std::move(job), HangFrom(configuration));
  LogInfo("the journal is open",
          {{"job", platform_->job_id()}, {"incarnation", journal.incarnation()}});
  for (const Journal::Past& past : journal.TakePast()) {
    for (const core::Decision& decision : past.decisions) machine_->Replay(decision, past.at);
  }
  for (const core::TaskMeasured& measured : rpc::ParseMeasurements(usage)) {
    machine_->Remember(measured);
  }
  if (platform_->files_take_time()) {
    journal_ = std::make_unique<JournalThread>(std::move(journal), loop_);
  } else {
    journal_ = std::make_unique<Journal>(std::move(journal));
  }
  return absl::OkStatus();
}

void ApplicationMaster::Take(const core::JobInput& input) {
  const auto* const attached = std::get_if<core::input::ExecutorAttached>(&input);
  if (attached != nullptr && log_collector_ != nullptr) {
    const core::Task* const task = machine_->tasks().FindByContainer(attached->container_id);
    if (task != nullptr) log_collector_->Follow(task->id, attached->container_id);
  }
  const auto* const left = std::get_if<core::input::ContainerEnded>(&input);
  if (left == nullptr) return runner_->Take(input);
  platform_->OnExecutorLeft(left->container_id, left->end);
}

absl::Status ApplicationMaster::OpenServer(const std::string& authority_pem,
                                           std::vector<std::string> executor_arguments) {
  // gRPC never reports a thread that it could not start, so its threads are started and checked
  // before anything depends on them.
  TONY_ASSIGN_OR_RETURN(grpc_threads_, rpc::GrpcThreads::Start());
  TONY_ASSIGN_OR_RETURN(rpc::CertificateAuthority authority,
                        rpc::CertificateAuthority::Load(authority_pem));
  authority_ = std::make_unique<rpc::CertificateAuthority>(std::move(authority));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                        authority_->Issue(rpc::ApplicationMasterRole(platform_->job_id())));
  MakeServices();
  runner_ = std::make_unique<JobRunner>(
      *machine_, JobRunner::Parts{
                     loop_, clock_, *journal_, *history_, *measurements_, *metrics_,
                     *executor_service_, *authority_, *assignments_, std::move(executor_arguments),
                     [this] { OnFinished(); }, [this](const std::string& why) { OnDeposed(why); },
                     [this] {
                       if (feeds_ != nullptr) feeds_->OnStep();
                     },
                     [this](std::function<void()> done) { PrepareEnd(std::move(done)); },
                     [this](const core::effect::KeepStacks& wish) { KeepStacks(wish); }});
  TONY_ASSIGN_OR_RETURN(
      server_, rpc::MasterServer::Start(platform_->host(), platform_->peers(), credentials,
                                        *job_service_, *executor_service_,
                                        platform_->SilenceLimit(machine_->job().timeouts)));
  runner_->set_master_address(server_->address());
  LogInfo("listening", {{"job", platform_->job_id()}, {"address", server_->address()}});
  return absl::OkStatus();
}

absl::Status ApplicationMaster::OpenLogCollector() {
  if (!platform_->collects_logs()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials own,
                        authority_->Issue(rpc::ClientRole(platform_->job_id())));
  log_collector_ = std::make_unique<LogCollector>(
      platform_->job_id(), platform_->folder(), rpc::TunnelDialer(server_->address(), own),
      [this](const std::string& note) { loop_.Post([this, note] { RecordNote(note); }); });
  return absl::OkStatus();
}

absl::Status ApplicationMaster::OpenBackend(const jobfile::LoadedJob& loaded) {
  const jobfile::BuildResult& built = loaded.result;
  const std::vector<web::ConfigKey> keys = pagedata::ConfigKeys(loaded.configuration);
  traits_ = pagedata::TraitsOf(loaded.configuration, keys);
  if (archive_ != nullptr) {
    archive_->KeepFile(storage::kConfigurationFile,
                       pagedata::XmlWithoutSecrets(loaded.configuration, keys));
  }
  PageParts page{loop_,
                 clock_,
                 event_log_,
                 metrics_->metrics(),
                 keys,
                 [this](const std::string& why) { Stop(core::Reason::kKilledByUser, why); },
                 stacks_.get(),
                 node_logs_.get(),
                 [this] { return DialTasks(); },
                 platform_->job_id()};
  page.metrics_token_file = loaded.configuration.GetText("tony.metrics.token-file");
  TONY_ASSIGN_OR_RETURN(page_entry_, platform_->MakePageEntry(page, built));
  Platform::BackendSetup setup{server_->address(), journal_->incarnation()};
  setup.deposed = [this](const std::string& why) { OnDeposed(why); };
  setup.lost = [this](const std::string& why) { Stop(core::Reason::kClientGone, why); };
  setup.note = [this](const std::string& sentence) { RecordClientsNote(sentence); };
  TONY_ASSIGN_OR_RETURN(backend_, platform_->MakeBackend(*runner_, built, std::move(setup)));
  runner_->set_backend(backend_.get());
  if (history_->past_sequence() > 0) return absl::OkStatus();  // the first one has recorded them
  for (const std::string& note : platform_->notes()) history_->Record(core::JobNote{note});
  return absl::OkStatus();
}

absl::Status ApplicationMaster::Start() {
  TONY_RETURN_IF_ERROR(platform_->Publish(server_->address()));
  listener_check_ =
      std::make_unique<ListenerCheck>(loop_, server_->acceptor(), ListenerCheck::Timing{},
                                      [this](const std::string& why) { OnDeaf(why); });
  grpc_watch_ = grpc_threads_->Watch(
      loop_, [this](const absl::Status& why) { OnDeaf(std::string(why.message())); });
  TONY_RETURN_IF_ERROR(ReadPast());
  if (platform_->ClientLease(machine_->job().timeouts) > Duration::zero()) AwaitOwner();
  if (client_.valid()) {
    // Ignored: after a restart there may be no client that waits for this line.
    (void)os::WriteAll(client_.get(), "ready\n", 6, "the client's socket");
    if (platform_->detached()) {
      client_.Reset();
    } else {
      client_watch_ = loop_.WatchReadable(client_.get(), [this] { OnOwnerLost(); });
    }
  }
  if (history_->ended()) {
    // An earlier ApplicationMaster has finished the job; only the conclusion is left.
    LogInfo("the job has ended before: concluding it", {{"job", platform_->job_id()}});
    if (alerts_ != nullptr && machine_->verdict()) alerts_->RepeatEnd(*machine_->verdict());
    loop_.Post([this] { OnFinished(); });
  } else {
    const absl::Status claimed = platform_->ClaimStep();
    if (!claimed.ok() && !absl::IsAborted(claimed)) return claimed;
    runner_->Apply(core::input::Start{journal_->incarnation(), platform_->own_log_url()});
    if (!claimed.ok()) Stop(core::Reason::kKilledByUser, std::string(claimed.message()));
    if (!predecessor_.empty()) {
      history_->Record(core::JobNote{absl::StrCat("the last ApplicationMaster ", predecessor_)});
    }
  }
  return absl::OkStatus();
}

void ApplicationMaster::OnSignal(int number) {
  if (finished_) return loop_.Stop();
  // The process exits at once, without the usual teardown: the job goes on under the next
  // ApplicationMaster, so nothing of it may be stopped or removed here.
  if (platform_->signal_means_another()) {
    LogInfo("told to end by a signal; the next one goes on", {{"signal", number}});
    archive_.reset();
    _exit(kDeposed);
  }
  Stop(core::Reason::kMasterStopped,
       absl::StrCat("The ApplicationMaster was told to end by signal ", number));
}

void ApplicationMaster::Stop(core::Reason reason, const std::string& sentence) {
  runner_->Apply(core::input::StopRequested{reason, sentence});
}

// Nothing may follow the job's last event.
void ApplicationMaster::RecordNote(const std::string& sentence) {
  if (history_->ended()) return LogDebug("a note is not recorded", {{"note", sentence}});
  history_->Record(core::JobNote{sentence});
}

void ApplicationMaster::RecordClientsNote(const std::string& sentence) {
  if (++clients_notes_ <= kMostClientsNotes) return RecordNote(sentence);
  LogDebug("a client's note is not recorded", {{"note", sentence}});
}

void ApplicationMaster::RecordExec(const std::string& sentence) {
  LogInfo(sentence, {{"job", platform_->job_id()}});
  if (exec_notes_ >= kMostExecNotes) return;
  const bool last = ++exec_notes_ == kMostExecNotes;
  const char* const more = "; further ones are in the ApplicationMaster's log only";
  RecordNote(absl::StrCat(sentence, last ? more : ""));
}

void ApplicationMaster::AwaitOwner() {
  const Duration lease = platform_->ClientLease(machine_->job().timeouts);
  LogInfo("the client that owns the job is awaited",
          {{"job", platform_->job_id()}, {"limit_ms", lease / std::chrono::milliseconds(1)}});
  lease_ = loop_.After(lease, [this, lease] {
    std::string sentence = "The client that submitted the job went away without a word";
    if (lease > Duration::zero()) {
      absl::StrAppend(&sentence, ", and for ", lease / std::chrono::seconds(1),
                      " s nobody came back (tony.client.lease)");
    }
    Stop(core::Reason::kClientGone, sentence);
  });
}

void ApplicationMaster::OnOwnerAttached() {
  ++owners_;
  lease_.reset();
  LogInfo("the client that owns the job is attached", {{"job", platform_->job_id()}});
  // From now on the end of the owner's stream tells that it is gone, so the socket is not needed.
  client_watch_.reset();
  if (finished_) Leave();
}

void ApplicationMaster::OnOwnerLost() {
  client_watch_.reset();
  LogInfo("the client's socket has ended", {{"job", platform_->job_id()}});
  if (finished_) return Leave();
  Stop(core::Reason::kClientGone,
       "The client that submitted the job went away before it had connected");
}

// Whoever hears that the job is over finds all of its logs, and knows what it might do better.
void ApplicationMaster::PrepareEnd(std::function<void()> done) {
  const std::string advice =
      FinalAdvice(event_log_, metrics_->metrics(), machine_->verdict().value_or(core::Verdict{}),
                  clock_.UnixMillis());
  if (!advice.empty()) RecordNote(advice);
  if (log_collector_ == nullptr) return done();
  log_collector_->AwaitAll([this, done = std::move(done)] { loop_.Post(done); });
}

void ApplicationMaster::OnFinished() {
  // The archive is flushed first, so that anyone who hears that the job is over finds all of its
  // events and metrics.
  metrics_->Finish();
  KeepSummary();
  archive_.reset();
  platform_->Conclude(machine_->verdict().value_or(core::Verdict{}), [this] { OnConcluded(); });
}

absl::StatusOr<std::shared_ptr<rpc::TunnelDialer>> ApplicationMaster::DialTasks() {
  if (task_dialer_ == nullptr) {
    TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                          authority_->Issue(rpc::ClientRole(platform_->job_id())));
    task_dialer_ = std::make_shared<rpc::TunnelDialer>(server_->address(), credentials);
  }
  return task_dialer_;
}

absl::Status ApplicationMaster::SendOwnLogs(const rpc::TunnelRelay::Wish& wish) {
  const std::string own = rpc::MasterContainer(journal_->incarnation());
  if (platform_->own_log_folder().empty() || wish.logs->container() != own) {
    return absl::NotFoundError(
        absl::StrCat("the log of ", wish.logs->container(), " is not this ApplicationMaster's"));
  }
  if (own_dialer_ == nullptr) {
    TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                          authority_->Issue(rpc::ExecutorRole(platform_->job_id(), own)));
    own_dialer_ = std::make_shared<rpc::TunnelDialer>(server_->address(), credentials);
  }
  relay_->Expect(wish.tunnel, own);
  return own_logs_->Send(wish.tunnel, *wish.logs, own_dialer_);
}

void ApplicationMaster::OnConcluded() {
  report_deadline_ = loop_.After(kReportPatience, [this] {
    LogDebug("a reader of this log is slow and may miss its end");
    OnSaid();
  });
  own_logs_->Finish([this] { page_entry_->Finish([this] { OnSaid(); }); });
}

void ApplicationMaster::OnSaid() {
  if (std::exchange(finished_, true)) return;
  report_deadline_.reset();
  event_log_.Close();
  // A job may be over before its client has connected. The client must still be able to read the
  // verdict, so the loop runs on until it attaches or is gone.
  if (client_watch_ == nullptr) Leave();
}

void ApplicationMaster::OnDeposed(const std::string& why) {
  LogError(absl::StrCat("this ApplicationMaster leaves without a trace: ", why));
  _exit(kDeposed);
}

void ApplicationMaster::OnDeaf(const std::string& why) {
  // The tasks do not notice this exit: the next ApplicationMaster replays the journal, and the
  // executors attach to it.
  LogError(absl::StrCat(why, "; it ends, so that another one takes over"));
  archive_.reset();
  _exit(kDeposed);
}

ApplicationMaster::~ApplicationMaster() {
  listener_check_.reset();
  log_collector_.reset();
  own_logs_.reset();
  if (relay_ != nullptr) relay_->Close("the job is over");
  // The server stops before the parts that its services call are destroyed, so that no input
  // arrives while they go away.
  if (server_ != nullptr) server_->Shutdown(machine_->job().timeouts.last_events);
  past_reader_.reset();
  backend_.reset();
  archive_.reset();
  // After a failed start the files stay, because the next ApplicationMaster needs them.
  if (finished_) platform_->CleanUp();
}

}  // namespace tony::appmaster
