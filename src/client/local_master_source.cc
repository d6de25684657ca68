// Watching a process, and starting the next one.
#include "client/local_master_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/job_connection.h"
#include "client/terminal.h"
#include "os/reap_orphans.h"
#include "rpc/event_lines.h"

namespace tony::client {
namespace {

/// Before a third ApplicationMaster is started, and each one after it.
constexpr std::chrono::milliseconds kRestartPause{200};
/// For a process that was killed: it may be in the middle of a call that the kernel ends first, to
/// a disk that takes its time, say.
constexpr std::chrono::seconds kDeathPatience{10};

}  // namespace

LocalMasterSource::LocalMasterSource(EventLoop& loop, Options options, MasterProcess master)
    : loop_(loop), options_(std::move(options)), master_(std::move(master)) {}

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
    master_.ended();  // reaps it
    master_over_ = true;
    if (killed_) return End();
    GoOn();
  });
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
  stream_over_ = true;
  AwaitExit();
  if (master_over_) connect_ = loop_.After(Duration::zero(), [this] { GoOn(); });
}

void LocalMasterSource::OnNoAnswer() {
  // One without descriptors, say: it cannot accept the stream.
  PrintNotice(
      "the ApplicationMaster runs but does not answer (tony.client.am-start-timeout-ms); ending "
      "it");
  master_.Kill();
}

void LocalMasterSource::Abandon(const std::string& /*sentence*/,
                                std::function<void(absl::Status)> done) {
  done(absl::UnavailableError("there is no ApplicationMaster at the moment"));
}

absl::Status LocalMasterSource::ReadEvents(const UseEvent& use) {
  ForEachRecordedEvent(options_.folder, use);
  return absl::OkStatus();
}

std::string LocalMasterSource::AfterLeaving() const {
  return "it ends, since nobody follows it any more";
}

void LocalMasterSource::GoOn() {
  if (!stream_over_ || !master_over_) return;
  exit_deadline_.reset();
  if (!concluded_) {
    // It may have said its last word to the file alone, of which the end is enough: the tasks wait
    // for another one, however much has happened so far.
    const absl::StatusOr<rpc::HistoryEnd> history = rpc::ReadHistoryEnd(options_.folder.events());
    concluded_ = history.ok() && history->ended;
  }
  if (concluded_ || restarts_ >= options_.restarts) return End();
  // The first time at once: the tasks go on, but not for long.
  if (restarts_ == 0) return Restart();
  restart_ = loop_.After(kRestartPause, [this] { Restart(); });
}

void LocalMasterSource::Restart() {
  ++restarts_;
  os::ReapOrphans();
  PrintNotice(absl::StrCat("the ApplicationMaster was lost; starting another (",
                           options_.restarts - restarts_, " restarts left)"));
  absl::StatusOr<MasterProcess> master = MasterProcess::Start(
      options_.folder, {.deadline = options_.start_deadline, .open_files = options_.open_files});
  if (!master.ok()) {
    PrintNotice(absl::StrCat("that failed: ", std::string(master.status().message())));
    return GoOn();
  }
  master_ = *std::move(master);
  Watch();
  Connect();
}

void LocalMasterSource::End() {
  exit_deadline_.reset();
  master_watch_.reset();
  // Executors of a lost ApplicationMaster became this process's children.
  if (master_over_) os::ReapOrphans();
  callbacks_.over(std::nullopt,
                  absl::UnavailableError(absl::StrCat(
                      "the ApplicationMaster went away without a verdict and was started again ",
                      restarts_, " times; its tasks end without it")));
}

}  // namespace tony::client
