// Assembles one job's ApplicationMaster from state machine, history, services and backend, runs it,
// and shuts it down.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "appmaster/alerts/alerts.h"
#include "appmaster/assignments.h"
#include "appmaster/feeds.h"
#include "appmaster/job_runner.h"
#include "appmaster/listener_check.h"
#include "appmaster/log_collector.h"
#include "appmaster/options.h"
#include "appmaster/page/job_page.h"
#include "appmaster/page/node_logs.h"
#include "appmaster/page/tunnels.h"
#include "appmaster/platform.h"
#include "appmaster/record/decision_log.h"
#include "appmaster/record/event_archive.h"
#include "appmaster/record/history.h"
#include "appmaster/record/measurements.h"
#include "appmaster/record/metrics.h"
#include "appmaster/record/past_reader.h"
#include "appmaster/stack_collector.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "history/job_entry.h"
#include "jobfile/job/job_builder.h"
#include "os/files/unique_fd.h"
#include "rpc/grpc/grpc_threads.h"
#include "rpc/services/event_log.h"
#include "rpc/services/master_server.h"
#include "rpc/tunnel/log_sender.h"
#include "rpc/tunnel/tunnel_relay.h"

namespace tony::appmaster {

/// Continues where an earlier ApplicationMaster was lost, if the job has a journal. Lives from
/// Create() until its loop has stopped. Not thread safe: owned by the event loop.
///
///   gRPC threads ── inputs ──▶ EventLoop ──▶ JobRunner ──▶ JobMachine (pure)
///                                               │ effects
///               History ◀───────────────────────┼──▶ ExecutorService ──▶ executors
///               (file, EventLog ──▶ followers)  ├──▶ Measurements ──▶ EventLog, file
///                          ▲                    └──▶ ClusterBackend  ──▶ containers
///                      PastReader
class ApplicationMaster {
 public:
  /// Reads the job and opens everything; starts nothing yet. AlreadyExists – another
  /// ApplicationMaster runs this job. Cancelled – nothing is left to do (Platform::Claim()).
  /// Otherwise the error of the part that could not be opened.
  static absl::StatusOr<std::unique_ptr<ApplicationMaster>> Create(
      Options options, std::unique_ptr<Platform> platform, EventLoop& loop);
  ~ApplicationMaster();

  /// Publishes the address and starts the job. The caller then runs the loop, which stops when the
  /// job has ended. The codes of Platform::Publish() and Platform::OpenFiles().
  absl::Status Start();
  /// The process was told to end by signal `number`. If the platform starts another
  /// ApplicationMaster, this one leaves the job to it; otherwise the job ends as KILLED.
  void OnSignal(int number);

 private:
  ApplicationMaster(Options options, std::unique_ptr<Platform> platform, EventLoop& loop);

  absl::Status Open();
  /// What the job wants when it makes no progress.
  static core::HangSettings HangFrom(const jobfile::Configuration& configuration);
  /// Replays the journal of the job's earlier ApplicationMasters, if there is one.
  absl::Status OpenJournal(core::JobDescription job, const jobfile::Configuration& configuration);
  /// Opens the history for appending. Only the end of the earlier ApplicationMasters' part is read
  /// here; ReadPast() reads the rest.
  absl::Status OpenHistory();
  absl::StatusOr<History> OpenArchivedHistory();
  /// Prepares the job's alerts, if it wants any. A job is worth more than its alerts: what is wrong
  /// with them is a note.
  void OpenAlerts(const jobfile::Configuration& configuration);
  /// Stops the loop, as soon as the alerts are sent (Alerts::Finish()).
  void Leave();
  void OpenMeasurements();
  absl::Status OpenMetrics(const jobfile::Configuration& configuration);
  /// Writes the job's entry for lists of jobs, once the job has ended. Without it, readers of the
  /// history read all of it.
  void KeepSummary();
  /// Starts reading the past, once this ApplicationMaster can be reached: a long history delays
  /// only those who want to see it.
  absl::Status ReadPast();
  absl::Status OpenServer(const std::string& authority_pem,
                          std::vector<std::string> executor_arguments);
  /// Prepares the feeds of the job's tasks, if the job wants any.
  absl::Status OpenFeeds(const jobfile::Configuration& configuration,
                         const std::string& authority_pem);
  void AnswerFeedCalls(rpc::JobService::Callbacks& callbacks);
  /// Takes what an executor has sent. Containers are the backend's, also when an executor says that
  /// it ends.
  void Take(const core::JobInput& input);
  /// Makes the services that clients and executors call.
  void MakeServices();
  /// Where what executors say goes.
  rpc::ExecutorService::Sinks MakeSinks();
  absl::Status OpenLogCollector();
  absl::Status OpenBackend(const jobfile::LoadedJob& loaded);
  void Stop(core::Reason reason, const std::string& sentence);
  /// Records a sentence for the job's user, unless the job has ended.
  void RecordNote(const std::string& sentence);
  /// Records that a client runs a command in a task, unless clients have run many.
  void RecordExec(const std::string& sentence);
  /// Records a sentence of a client, unless clients have recorded many.
  void RecordClientsNote(const std::string& sentence);
  void OnOwnerAttached();
  void OnOwnerLost();
  void OnFinished();
  void PrepareEnd(std::function<void()> done);
  /// Takes the stacks of all tasks, keeps them with this job's logs and records a note.
  void KeepStacks(const core::effect::KeepStacks& wish);
  void OnStacks(const core::effect::KeepStacks& wish, const core::StackReport& report);
  void OnConcluded();
  void OnSaid();
  /// Answers a tunnel with this process's own logs, as an executor answers with its own.
  absl::Status SendOwnLogs(const rpc::TunnelRelay::Wish& wish);
  /// A connection to this process itself, over which the page reaches tasks as clients do. The
  /// codes of rpc::CertificateAuthority::Issue().
  absl::StatusOr<std::shared_ptr<rpc::TunnelDialer>> DialTasks();
  /// Ends the job when its owner's lease has run out.
  void AwaitOwner();
  void OnDeposed(const std::string& why);
  /// This process's port takes in no connection any more, or gRPC has no thread for its callbacks.
  void OnDeaf(const std::string& why);

  const std::unique_ptr<Platform> platform_;
  EventLoop& loop_;
  const std::string predecessor_;  ///< Options::predecessor
  os::UniqueFd client_;            ///< Options::client_fd
  SystemClock clock_;
  std::unique_ptr<rpc::GrpcThreads> grpc_threads_;
  std::unique_ptr<EventLoop::Handle> grpc_watch_;
  rpc::EventLog event_log_;
  /// Copy of the events, if the folder does not outlive the container.
  std::unique_ptr<EventArchive> archive_;
  std::unique_ptr<DecisionLog> journal_;
  std::unique_ptr<core::JobMachine> machine_;
  std::unique_ptr<Assignments> assignments_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Alerts> alerts_;  ///< null: the job wants none
  std::unique_ptr<Measurements> measurements_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<PastReader> past_reader_;  ///< null: there is no past
  std::unique_ptr<rpc::CertificateAuthority> authority_;
  std::unique_ptr<rpc::TunnelRelay> relay_;
  std::unique_ptr<rpc::JobService> job_service_;
  std::unique_ptr<rpc::ExecutorService> executor_service_;
  std::unique_ptr<Tunnels> tunnels_;
  std::unique_ptr<StackCollector> stacks_;
  std::unique_ptr<NodeLogs> node_logs_;
  core::StackReport kept_stacks_;  ///< those kept last, for a comparison
  std::string kept_text_;          ///< the text of them
  std::unique_ptr<PageEntry> page_entry_;
  history::JobTraits traits_;     ///< for KeepSummary()
  std::unique_ptr<Feeds> feeds_;  ///< null: the job is not fed
  std::unique_ptr<JobRunner> runner_;
  std::unique_ptr<core::ClusterBackend> backend_;
  std::unique_ptr<rpc::MasterServer> server_;
  std::unique_ptr<LogCollector> log_collector_;  ///< null: the logs need not be collected
  std::unique_ptr<ListenerCheck> listener_check_;
  /// Set while the ApplicationMaster waits for the owning client to connect.
  std::unique_ptr<EventLoop::Handle> client_watch_;
  int owners_ = 0;                            ///< streams of clients that own the job
  std::unique_ptr<EventLoop::Handle> lease_;  ///< set while the owner is away
  /// A connection to this process itself; null: not made yet.
  std::shared_ptr<rpc::TunnelDialer> own_dialer_;
  std::shared_ptr<rpc::TunnelDialer> task_dialer_;  ///< DialTasks(); null: not made yet
  std::unique_ptr<rpc::LogSenders> own_logs_;
  std::unique_ptr<EventLoop::Handle> report_deadline_;
  int clients_notes_ = 0;  ///< number of clients' notes that this ApplicationMaster has recorded
  int exec_notes_ = 0;     ///< number of commands of clients that it has recorded
  bool finished_ = false;
};

}  // namespace tony::appmaster
