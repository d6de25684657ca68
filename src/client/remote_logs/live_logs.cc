// A state machine on one event loop; blocking copies run on a second loop (`copier_`), which posts
// back. Each container moves from tunnel to node to collected logs, and never back to an earlier
// source. The JobEnded event is held back until every container is done, because readers stop at
// it.
#include "client/remote_logs/live_logs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "rpc/convert/event_json.h"
#include "tony/v1/application_master.pb.h"

namespace tony::client {
namespace {

/// Consecutive retries of one container's tunnel before the user is told.
constexpr int kRetriesInSilence = 10;
/// The pause grows linearly with each retry, up to this many times `retry_pause`.
constexpr int kMostPauses = 10;
/// Tasks named in one sentence.
constexpr size_t kMostNamed = 10;

/// Whether a tunnel that ended with `status` is worth opening again: the executor may be attaching
/// to another ApplicationMaster or be busy, or the ApplicationMaster may be about to end or have no
/// room for another tunnel.
bool MayComeBack(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsFailedPrecondition(status) ||
         absl::IsCancelled(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LiveLogs>> LiveLogs::Start(history::LogMirror& mirror,
                                                          Options options) {
  const storage::JobFolder& folder = mirror.folder();
  TONY_RETURN_IF_ERROR(os::MakeFolders(folder.logs()));
  TONY_ASSIGN_OR_RETURN(os::UniqueFd lock, os::LockFile(folder.am_lock()));
  TONY_ASSIGN_OR_RETURN(os::AppendFile events, os::AppendFile::Open(folder.events()));
  std::unique_ptr<LiveLogs> live(
      new LiveLogs(mirror, std::move(options), std::move(events), std::move(lock)));
  live->copier_thread_ = std::thread([live = live.get()] { live->copier_.Run(); });
  live->thread_ = std::thread([live = live.get()] { live->Run(); });
  return live;
}

LiveLogs::LiveLogs(history::LogMirror& mirror, Options options, os::AppendFile events,
                   os::UniqueFd lock)
    : mirror_(mirror),
      options_(std::move(options)),
      events_(std::move(events)),
      lock_(std::move(lock)),
      origins_(options_.selection) {}

LiveLogs::~LiveLogs() {
  loop_.Post([this] { loop_.Stop(); });
  thread_.join();
  copier_.Stop();
  copier_thread_.join();
  // The callbacks of the client and of the receivers post to the loop, so both go before the loop
  // does.
  client_.reset();
  copies_.clear();
}

void LiveLogs::Run() {
  std::unique_ptr<EventLoop::Handle> signals;
  if (options_.handles_signals) {
    signals =
        loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { OnSignal(number); });
  }
  source_ = options_.make_source(loop_, clock_);
  MasterSource::Callbacks callbacks;
  callbacks.found = [this](std::unique_ptr<rpc::JobClient> client) { OnFound(std::move(client)); };
  callbacks.over = [this](const std::optional<core::Verdict>& verdict, const absl::Status& why) {
    OnOver(verdict, why);
  };
  // A caller that handles signals follows the job itself, and says the same.
  if (!options_.handles_signals) callbacks.notice = [](const std::string&) {};
  source_->Start(std::move(callbacks));
  loop_.Run();
  source_.reset();
}

void LiveLogs::OnSignal(int number) {
  // Close() first: after it no thread writes into the folder, so RemoveTree() leaves nothing
  // behind. The default action then ends the process with the right status.
  mirror_.Close();
  (void)os::RemoveTree(mirror_.folder().root());
  signal(number, SIG_DFL);
  kill(getpid(), number);
}

void LiveLogs::OnFound(std::unique_ptr<rpc::JobClient> client) {
  if (over_) return;
  client_ = std::move(client);
  connected_ = true;
  // Callbacks come on gRPC's threads and may be late; the number tells those of an earlier stream.
  const int stream = ++stream_;
  client_->Follow(last_sequence_, /*owner=*/false,
                  {[this, stream](core::JobEvent event) {
                     loop_.Post([this, stream, event = std::move(event)] {
                       if (stream == stream_) OnEvent(event);
                     });
                   },
                   [this, stream](const absl::Status& status) {
                     loop_.Post([this, stream, status] {
                       if (stream == stream_ && connected_) OnStreamClosed(status);
                     });
                   },
                   [this, stream] {
                     loop_.Post([this, stream] {
                       if (stream == stream_ && connected_) OnAnswer();
                     });
                   }});
  for (Copy& copy : copies_) {
    copy.retries = 0;
    Open(copy);
  }
}

void LiveLogs::OnAnswer() {
  silent_since_.reset();
  source_->OnAnswer();
}

void LiveLogs::OnEvent(const core::JobEvent& event) {
  last_sequence_ = event.sequence;
  const std::string line = absl::StrCat(rpc::EventToJsonLine(event), "\n");
  if (std::holds_alternative<core::JobEnded>(event.body)) {
    last_line_ = line;
    return;
  }
  const absl::Status written = events_.Append(line);
  if (!written.ok()) PrintOnce(std::string(written.message()));
  std::optional<history::LogOrigin> origin = origins_.Take(event);
  if (origin) Add(*std::move(origin));
  const auto* change = std::get_if<core::TaskChanged>(&event.body);
  // `containment` is set once the executor has attached; only then can a tunnel reach it.
  if (change == nullptr || change->containment.empty()) return;
  for (Copy& copy : copies_) {
    if (copy.origin.container != change->container || copy.ready) continue;
    copy.ready = true;
    Open(copy);
  }
}

void LiveLogs::Add(history::LogOrigin origin) {
  // Logs of the task's earlier containers must stand before the logs of this one, so what is left
  // of them is copied from their nodes first.
  for (Copy& copy : copies_) {
    if (copy.origin.task == origin.task && !copy.complete && !copy.at_node) CopyFromNode(copy);
  }
  Copy& copy = copies_.emplace_back();
  copy.origin = std::move(origin);
  copy.ready = copy.origin.master();
  Open(copy);
}

void LiveLogs::OnStreamClosed(const absl::Status& status) {
  connected_ = false;
  for (Copy& copy : copies_) copy.retry.reset();
  if (!last_line_.empty()) {
    over_ = true;
    return EndIfAllCame();
  }
  const TimePoint now = clock_.Now();
  if (!silent_since_) silent_since_ = now;
  // The source tries an ApplicationMaster for as long as YARN names it, so the patience ends here.
  if (now - *silent_since_ >= options_.answer_patience) {
    return OnOver(std::nullopt,
                  absl::UnavailableError(absl::StrCat(
                      "the ApplicationMaster does not answer, can this machine reach the cluster's "
                      "nodes? ",
                      std::string(status.message()))));
  }
  source_->OnStreamClosed(status);
}

void LiveLogs::OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why) {
  if (std::exchange(over_, true)) return;
  lost_ = !verdict && !why.ok();
  if (lost_) PrintOnce(std::string(why.message()));
  EndIfAllCame();
}

void LiveLogs::Open(Copy& copy) {
  if (!connected_ || !copy.ready || copy.complete || copy.at_node || copy.receiver) return;
  // An earlier container of the task is being copied, and its bytes must stand first.
  const bool before = std::any_of(copies_.begin(), copies_.end(), [&copy](const Copy& other) {
    return other.copying && other.origin.task == copy.origin.task;
  });
  if (before) return;
  const auto on_trouble = [this, &copy](const std::string& trouble) {
    PrintOnce(absl::StrCat(copy.origin.task, ": ", trouble));
  };
  const auto on_done = [this, &copy](const absl::Status& status) { OnReceived(copy, status); };
  copy.receiver = std::make_unique<history::LogReceiver>(
      loop_, mirror_, copy.origin,
      history::WishFor(copy.origin, options_.selection, /*follow=*/true), std::nullopt,
      client_->tunnels(), history::LogReceiver::Callbacks{on_trouble, on_done});
}

void LiveLogs::OnReceived(Copy& copy, const absl::Status& status) {
  copy.receiver.reset();
  copy.complete = status.ok();
  if (!status.ok() && connected_) {
    if (MayComeBack(status)) {
      Retry(copy, status);
    } else {
      // NotFound means that the container is known to have ended, which is no news for the user.
      if (!absl::IsNotFound(status)) {
        PrintOnce(absl::StrCat(copy.origin.task, ": ", std::string(status.message()),
                               "; what its node has of its logs is shown"));
      }
      CopyFromNode(copy);
    }
  }
  EndIfAllCame();
}

void LiveLogs::Retry(Copy& copy, const absl::Status& why) {
  ++copy.retries;
  LogDebug("a log's tunnel is opened again", {{"task", copy.origin.task},
                                              {"container", copy.origin.container},
                                              {"retry", copy.retries},
                                              {"why", why.message()}});
  if (absl::IsResourceExhausted(why) && copy.retries == 1) {
    PrintOnce(absl::StrCat("some logs will come later: ", std::string(why.message())));
  } else if (copy.retries == kRetriesInSilence) {
    PrintOnce(absl::StrCat(
        copy.origin.task,
        ": its logs cannot be had at the moment, tried again: ", std::string(why.message())));
  }
  copy.retry = loop_.After(options_.retry_pause * std::min(copy.retries, kMostPauses),
                           [this, &copy] { Open(copy); });
}

void LiveLogs::CopyFromNode(Copy& copy) {
  LogDebug("a log is copied from its node",
           {{"task", copy.origin.task}, {"container", copy.origin.container}});
  copy.receiver.reset();
  copy.retry.reset();
  copy.at_node = true;
  copy.copying = true;
  copier_.Post([this, &copy, origin = copy.origin] {
    loop_.Post([this, &copy, status = options_.copy_from_node(origin)] { OnCopied(copy, status); });
  });
}

void LiveLogs::OnCopied(Copy& copy, const absl::Status& status) {
  copy.copying = false;
  copy.lacks = std::string(status.message());
  if (ending_) {
    copy.complete = status.ok();
  } else {
    if (!status.ok()) PrintOnce(absl::StrCat(copy.origin.task, ": ", copy.lacks));
    // The next container of this task was held back by Open() until this copy was done.
    for (Copy& other : copies_) {
      if (other.origin.task == copy.origin.task) Open(other);
    }
  }
  EndIfAllCame();
}

void LiveLogs::EndIfAllCame() {
  const bool coming = std::any_of(copies_.begin(), copies_.end(), [](const Copy& copy) {
    return copy.receiver != nullptr || copy.copying;
  });
  if (!over_ || coming) return;
  return std::exchange(ending_, true) ? CopyCollected() : CopyRest();
}

void LiveLogs::CopyRest() {
  bool complete = true;
  for (Copy& copy : copies_) {
    if (copy.complete) continue;
    complete = false;
    // An earlier copy from the node may have been taken while the log still grew.
    CopyFromNode(copy);
  }
  if (complete) End();
}

void LiveLogs::CopyCollected() {
  std::vector<history::LogOrigin> lacking;
  for (const Copy& copy : copies_) {
    if (!copy.complete) lacking.push_back(copy.origin);
  }
  if (lacking.empty()) return End();
  copier_.Post([this, lacking = std::move(lacking)] {
    loop_.Post([this, whole = options_.copy_collected(lacking)] { OnCollected(whole); });
  });
}

void LiveLogs::OnCollected(const std::set<std::string>& containers) {
  for (Copy& copy : copies_) {
    if (copy.complete) continue;
    copy.complete = containers.contains(copy.origin.container);
    if (!copy.complete) PrintOnce(absl::StrCat(copy.origin.task, ": ", copy.lacks));
  }
  End();
}

void LiveLogs::End() {
  {
    const std::lock_guard lock(mutex_);
    result_ = MakeResult();
  }
  // Readers follow until the JobEnded event comes or the lock is free. Without the event, the lock
  // must go.
  if (last_line_.empty() || !events_.Append(last_line_).ok()) lock_.Reset();
  loop_.Stop();
}

absl::Status LiveLogs::MakeResult() {
  if (lost_) return absl::UnavailableError("these may not be all logs: the job's end is not known");
  std::set<std::string> lacking;
  for (const Copy& copy : copies_) {
    if (!copy.complete) lacking.insert(copy.origin.task);
  }
  if (lacking.empty()) return absl::OkStatus();
  std::vector<std::string> named(lacking.begin(), lacking.end());
  if (named.size() > kMostNamed) {
    named.resize(kMostNamed);
    named.push_back("…");
  }
  return absl::UnavailableError(
      absl::StrCat("not all logs could be read, those of ", absl::StrJoin(named, ", "), " lack"));
}

absl::Status LiveLogs::result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

void LiveLogs::PrintOnce(const std::string& sentence) {
  if (std::exchange(last_notice_, sentence) != sentence) options_.notice(sentence);
}

}  // namespace tony::client
