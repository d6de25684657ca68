// An ApplicationMaster counts as lost only when both its process is gone (pidfd) and its stream has
// ended; until then its last events may still be on the way. GoOn() is the one place that decides
// between the end and a restart.
#include "client/follow/local_master_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/jobs/job_connection.h"
#include "common/logging.h"
#include "os/processes/reap_orphans.h"
#include "rpc/convert/event_lines.h"

namespace tony::client {
namespace {

/// Wait for a killed process to be gone. The kernel first ends the system call that the process is
/// in, which may be to a slow disk.
constexpr std::chrono::seconds kDeathPatience{10};
/// Wait for the stream of a dead ApplicationMaster to end. The kernel closes it at once, but gRPC
/// does not notice when it could start no thread.
constexpr std::chrono::seconds kStreamPatience{5};

}  // namespace

LocalMasterSource::LocalMasterSource(EventLoop& loop, const Clock& clock, Options options,
                                     MasterProcess master)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      master_(std::move(master)),
      started_at_(clock_.Now()),
      restarts_(options_.restarts) {}

void LocalMasterSource::Start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  // Executors must not escape to init when their ApplicationMaster dies; see End().
  os::BecomeSubreaper();
  Watch();
  connect_ = loop_.After(Duration::zero(), [this] { Connect(); });
}

void LocalMasterSource::Watch() {
  master_over_ = false;
  master_watch_ = loop_.WatchReadable(master_.pidfd(), [this] {
    master_watch_.reset();
    OnMasterOver();
  });
}

void LocalMasterSource::OnMasterOver() {
  LogDebug("the ApplicationMaster's process has ended");
  end_ = master_.End();
  master_over_ = true;
  if (killed_) return End();
  if (!stream_over_) {
    stream_deadline_ = loop_.After(kStreamPatience, [this] { OnStreamOverdue(); });
  }
  GoOn();
}

void LocalMasterSource::OnStreamOverdue() {
  if (!heard_) {
    return End("; nobody told this program of its end: it may start too few threads (ulimit -u)");
  }
  // gRPC has threads and is only late, for example on a machine that is short of memory.
  LogDebug("the end of the stream of events is late: going on without it");
  stream_over_ = true;
  GoOn();
}

void LocalMasterSource::Connect() {
  stream_over_ = false;
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = ConnectToJob(options_.folder);
  if (client.ok()) return callbacks_.found(*std::move(client));
  callbacks_.notice(absl::StrCat("that failed: ", std::string(client.status().message())));
  OnStreamClosed(client.status());
}

void LocalMasterSource::AwaitExit() {
  if (exit_deadline_ != nullptr) return;
  exit_deadline_ = loop_.After(options_.exit_deadline, [this] {
    if (master_over_) return End();
    LogDebug("the ApplicationMaster does not exit in time: it is killed");
    master_.Kill();
    // The process holds its lock until the kernel has removed it. RunLocalJob() leaves the cleaning
    // up to the ApplicationMaster while the lock is held, so it is waited for.
    killed_ = true;
    exit_deadline_ = loop_.After(kDeathPatience, [this] { End(); });
  });
}

void LocalMasterSource::OnConcluded() {
  concluded_ = true;
  AwaitExit();
}

void LocalMasterSource::OnStreamClosed(const absl::Status& why) {
  LogDebug("the stream of events has ended", {{"why", why.message()}});
  // A late report: the next ApplicationMaster is being started already, or there will be none.
  if (ended_ || (stream_over_ && master_over_)) {
    return LogDebug("a late end of a stream is ignored");
  }
  stream_over_ = true;
  stream_deadline_.reset();
  AwaitExit();
  if (master_over_) connect_ = loop_.After(Duration::zero(), [this] { GoOn(); });
}

void LocalMasterSource::OnNoAnswer() {
  // An ApplicationMaster without free descriptors, for example, cannot accept the stream.
  callbacks_.notice(
      "the ApplicationMaster runs but does not answer (tony.client.am-start-timeout-ms); ending "
      "it");
  master_.Kill();
  AwaitExit();
}

void LocalMasterSource::Abandon(const std::string& /*sentence*/,
                                std::function<void(absl::Status)> done) {
  done(absl::UnavailableError("there is no ApplicationMaster at the moment"));
}

absl::Status LocalMasterSource::ReadEvents(const history::UseEvent& use) {
  history::ForEachRecordedEvent(options_.folder, use);
  return absl::OkStatus();
}

std::string LocalMasterSource::AfterLeaving() const {
  return "it ends, since nobody follows it any more";
}

void LocalMasterSource::GoOn() {
  if (ended_ || !stream_over_ || !master_over_) return;
  exit_deadline_.reset();
  if (!concluded_) {
    // The last event may be in the events' file alone. Reading the file's end is enough, which
    // matters because the tasks wait for the next ApplicationMaster however long the history is.
    const absl::StatusOr<rpc::HistoryEnd> history = rpc::ReadHistoryEnd(options_.folder.events());
    concluded_ = history.ok() && history->ended;
  }
  if (concluded_) return End();
  const std::optional<Duration> pause = restarts_.Next(clock_.Now() - started_at_);
  if (!pause) return End();
  predecessor_ = end_ ? DescribeLoss(options_.folder, *std::exchange(end_, std::nullopt)) : "";
  std::string sentence =
      absl::StrCat("the ApplicationMaster ", predecessor_.empty() ? "was lost" : predecessor_,
                   "; starting another");
  if (*pause > Duration::zero()) {
    absl::StrAppend(&sentence, " in ", *pause / std::chrono::milliseconds(1),
                    " ms, since several were lost soon after their start");
  }
  callbacks_.notice(absl::StrCat(sentence, " (", restarts_.left(), " restarts left)"));
  if (*pause == Duration::zero()) return Restart();
  restart_ = loop_.After(*pause, [this] { Restart(); });
}

void LocalMasterSource::Restart() {
  os::ReapOrphans();
  started_at_ = clock_.Now();
  absl::StatusOr<MasterStart> start =
      MasterStart::Begin(options_.folder, {.lock_fds = options_.lock_fds,
                                           .page_fds = options_.page_fds,
                                           .launcher_fd = options_.launcher_fd,
                                           .launcher_host = options_.launcher_host,
                                           .open_files = options_.open_files,
                                           .predecessor = predecessor_});
  if (!start.ok()) return OnStartFailed(start.status());
  start_ = *std::move(start);
  start_watch_ = loop_.WatchReadable(start_->fd(), [this] { OnStarted(); });
  start_deadline_ = loop_.After(options_.start_deadline, [this] { OnStartOverdue(); });
}

void LocalMasterSource::OnStarted() {
  start_watch_.reset();
  start_deadline_.reset();
  absl::StatusOr<MasterProcess> master = std::move(*start_).Finish();
  start_.reset();
  if (!master.ok()) return OnStartFailed(master.status());
  master_ = *std::move(master);
  Watch();
  Connect();
}

void LocalMasterSource::OnStartOverdue() {
  start_watch_.reset();
  const absl::Status why = std::move(*start_).GiveUp();
  start_.reset();
  OnStartFailed(why);
}

void LocalMasterSource::OnStartFailed(const absl::Status& why) {
  callbacks_.notice(absl::StrCat("that failed: ", std::string(why.message())));
  GoOn();
}

void LocalMasterSource::End(const std::string& more) {
  ended_ = true;
  stream_deadline_.reset();
  exit_deadline_.reset();
  master_watch_.reset();
  // This process is a subreaper, so executors of a lost ApplicationMaster became its children.
  if (master_over_) os::ReapOrphans();
  callbacks_.over(std::nullopt,
                  absl::UnavailableError(absl::StrCat(
                      "the ApplicationMaster went away without a verdict and was started again ",
                      restarts_.used(), " times; its tasks end without it", more)));
}

}  // namespace tony::client
