// Watching a process, and starting the next one.
#include "client/follow/local_master_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_connection.h"
#include "os/processes/reap_orphans.h"
#include "rpc/convert/event_lines.h"

namespace tony::client {
namespace {

/// For a process that was killed: it may be in the middle of a call that the kernel ends first, to
/// a disk that takes its time, say.
constexpr std::chrono::seconds kDeathPatience{10};
/// For a stream to end whose ApplicationMaster is gone. The kernel says at once that it is, but
/// gRPC does not hear it where it could start no thread.
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
  master_.ended();  // reaps it
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
  // gRPC is only late, on a machine that is short of memory, say.
  stream_over_ = true;
  GoOn();
}

void LocalMasterSource::Connect() {
  stream_over_ = false;
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = ConnectToJob(options_.folder);
  if (client.ok()) return callbacks_.found(*std::move(client));
  PrintNotice(absl::StrCat("that failed: ", std::string(client.status().message())));
  OnStreamClosed(client.status());
}

void LocalMasterSource::AwaitExit() {
  if (exit_deadline_ != nullptr) return;
  exit_deadline_ = loop_.After(options_.exit_deadline, [this] {
    if (master_over_) return End();
    master_.Kill();
    // It holds its lock until the kernel has taken it down, and who finds the lock held leaves what
    // is left of the job to it.
    killed_ = true;
    exit_deadline_ = loop_.After(kDeathPatience, [this] { End(); });
  });
}

void LocalMasterSource::OnConcluded() {
  concluded_ = true;
  AwaitExit();
}

void LocalMasterSource::OnStreamClosed(const absl::Status& /*why*/) {
  // Late: the next one is on its way, or none.
  if (ended_ || (stream_over_ && master_over_)) return;
  stream_over_ = true;
  stream_deadline_.reset();
  AwaitExit();
  if (master_over_) connect_ = loop_.After(Duration::zero(), [this] { GoOn(); });
}

void LocalMasterSource::OnNoAnswer() {
  // One without descriptors, say: it cannot accept the stream.
  PrintNotice(
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
    // It may have said its last word to the file alone, of which the end is enough: the tasks wait
    // for another one, however much has happened so far.
    const absl::StatusOr<rpc::HistoryEnd> history = rpc::ReadHistoryEnd(options_.folder.events());
    concluded_ = history.ok() && history->ended;
  }
  if (concluded_) return End();
  const std::optional<Duration> pause = restarts_.Next(clock_.Now() - started_at_);
  if (!pause) return End();
  std::string sentence = "the ApplicationMaster was lost; starting another";
  if (*pause > Duration::zero()) {
    absl::StrAppend(&sentence, " in ", *pause / std::chrono::milliseconds(1),
                    " ms, since several were lost soon after their start");
  }
  PrintNotice(absl::StrCat(sentence, " (", restarts_.left(), " restarts left)"));
  if (*pause == Duration::zero()) return Restart();
  restart_ = loop_.After(*pause, [this] { Restart(); });
}

void LocalMasterSource::Restart() {
  os::ReapOrphans();
  started_at_ = clock_.Now();
  absl::StatusOr<MasterStart> start =
      MasterStart::Begin(options_.folder, {.open_files = options_.open_files});
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
  PrintNotice(absl::StrCat("that failed: ", std::string(why.message())));
  GoOn();
}

void LocalMasterSource::End(const std::string& more) {
  ended_ = true;
  stream_deadline_.reset();
  exit_deadline_.reset();
  master_watch_.reset();
  // Executors of a lost ApplicationMaster became this process's children.
  if (master_over_) os::ReapOrphans();
  callbacks_.over(std::nullopt,
                  absl::UnavailableError(absl::StrCat(
                      "the ApplicationMaster went away without a verdict and was started again ",
                      restarts_.used(), " times; its tasks end without it", more)));
}

}  // namespace tony::client
