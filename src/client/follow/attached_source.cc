// The stream's end alone does not say whether the job is over: the catalog does, by the job's locks
// or by its cluster.
#include "client/follow/attached_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "history/recorded_events.h"

namespace tony::client {
namespace {

/// Pause before the job is looked at again.
constexpr std::chrono::milliseconds kLookPause{300};
/// An ApplicationMaster that has concluded the job exits soon. What comes after this program, such
/// as tony rm, should find the job over.
constexpr std::chrono::milliseconds kTidyPause{50};
constexpr int kTidyLooks = 60;
constexpr std::chrono::seconds kAskLimit{2};

}  // namespace

AttachedSource::AttachedSource(EventLoop& loop, JobCatalog& jobs, StoredJob job)
    : loop_(loop), jobs_(jobs), job_(std::move(job)) {}

void AttachedSource::Start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  next_ = loop_.After(Duration::zero(), [this] { Connect(); });
}

void AttachedSource::Connect() {
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = jobs_.Connect(job_);
  if (!client.ok()) return Miss(client.status());
  callbacks_.found(*std::move(client));
}

void AttachedSource::OnNoAnswer() {
  // Whoever keeps the job alive ends an ApplicationMaster that hangs, and the stream with it.
  callbacks_.notice(
      absl::StrCat("the ApplicationMaster of job ", job_.id, " does not answer (yet)"));
}

void AttachedSource::OnStreamClosed(const absl::Status& why) {
  LogDebug("the stream of events has ended", {{"why", why.message()}});
  if (!concluded_) return Miss(why);
  next_ = loop_.After(Duration::zero(), [this] { AwaitTidy(); });
}

void AttachedSource::AwaitTidy() {
  const absl::StatusOr<StoredJob> job = jobs_.Find(job_.id);
  if (!job.ok() || !job->alive || ++tidy_looks_ > kTidyLooks) {
    return End(std::nullopt, absl::OkStatus());
  }
  next_ = loop_.After(kTidyPause, [this] { AwaitTidy(); });
}

void AttachedSource::Miss(const absl::Status& why) {
  if (!std::exchange(missed_, true)) {
    LogDebug("no ApplicationMaster can be reached", {{"why", why.message()}});
    callbacks_.notice(absl::StrCat("waiting for the ApplicationMaster of job ", job_.id));
  }
  next_ = loop_.After(kLookPause, [this] { Look(); });
}

void AttachedSource::Look() {
  absl::StatusOr<StoredJob> job = jobs_.Find(job_.id);
  if (absl::IsNotFound(job.status())) return End(std::nullopt, job.status());
  if (!job.ok()) return Miss(job.status());
  job_ = *std::move(job);
  if (job_.ended()) return End(job_.job.view.verdict, absl::OkStatus());
  if (job_.alive) return Connect();
  End(std::nullopt,
      absl::UnavailableError(absl::StrCat("job ", job_.id, " has no verdict: ", job_.sentence)));
}

void AttachedSource::Abandon(const std::string& sentence, std::function<void(absl::Status)> done) {
  const absl::Status asked =
      jobs_.Stop(job_, {.reason = sentence, .ask_limit = kAskLimit, .wait = {}});
  // DeadlineExceeded: it was told, and the end comes as the job's own.
  done(absl::IsDeadlineExceeded(asked) ? absl::OkStatus() : asked);
}

absl::Status AttachedSource::ReadEvents(const history::UseEvent& use) {
  // A cluster's job has no folder here: the catalog's verdict, which End() passes on, is enough.
  if (!job_.folder.root().empty()) history::ForEachRecordedEvent(job_.folder, use);
  return absl::OkStatus();
}

void AttachedSource::End(const std::optional<core::Verdict>& verdict, const absl::Status& why) {
  callbacks_.over(verdict, why);
}

}  // namespace tony::client
