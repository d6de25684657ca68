// YARN notifies nobody, so the source polls the application's report, but only while no
// ApplicationMaster can be listened to. Polling stops when an ApplicationMaster is found and starts
// again when its stream ends.
#include "client/yarn/yarn_master_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_job.h"
#include "client/yarn/yarn_access.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// Pause between two reports: short while a start usually takes place (kShortPauses times), long
/// afterwards.
constexpr std::chrono::milliseconds kShortPause{100};
constexpr std::chrono::milliseconds kLongPause{500};
constexpr int kShortPauses = 50;
/// The backoff before an ApplicationMaster that could not be reached is tried again starts at
/// kShortPause and doubles up to this.
constexpr std::chrono::seconds kLongestRedialPause{10};
/// Silence after the job's last event before the user is told what is waited for.
constexpr std::chrono::seconds kExitNotice{2};

int64_t Seconds(Duration duration) { return duration / std::chrono::seconds(1); }

}  // namespace

YarnMasterSource::YarnMasterSource(EventLoop& loop, const Clock& clock,
                                   const backend::YarnCluster& cluster, Options options)
    : loop_(loop),
      clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      watch_(loop, cluster.application_client(), options_.job_id, cluster.timeout(),
             [this](const auto& report) { OnReport(report); }) {}

void YarnMasterSource::Start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  LookUp();
}

void YarnMasterSource::LookUp() {
  looks_ = 0;
  waiting_since_ = clock_.Now();
  watch_.Start(kShortPause);
}

void YarnMasterSource::OnAnswer() {
  answered_ = true;
  if (std::exchange(lost_, false)) {
    callbacks_.notice(
        absl::StrCat("the ApplicationMaster at ", address_, " answers; following the job again"));
  }
}

void YarnMasterSource::OnNoAnswer() {
  ReportLost("it does not answer; can this machine reach the cluster's nodes?");
}

void YarnMasterSource::ReportLost(const std::string& why) {
  if (std::exchange(lost_, true)) return;
  callbacks_.notice(absl::StrCat("no word from the ApplicationMaster at ", address_, ": ", why,
                                 "; trying again and again"));
}

void YarnMasterSource::OnConcluded() {
  concluded_ = true;
  exit_notice_ = loop_.After(kExitNotice, [this] {
    callbacks_.notice(absl::StrCat("the job is over; waiting for YARN to note it, ",
                                   Seconds(options_.exit_deadline),
                                   " s at most (tony.client.am-exit-timeout-ms)"));
  });
  exit_deadline_ = loop_.After(options_.exit_deadline, [this] {
    watch_.Stop();
    callbacks_.notice(absl::StrCat("leaving: the job is over, but for ",
                                   Seconds(options_.exit_deadline),
                                   " s YARN has not noted it; yarn application -status ",
                                   options_.job_id, " shows whether it will"));
    callbacks_.over(std::nullopt, absl::OkStatus());
  });
  LookUp();
}

void YarnMasterSource::OnStreamClosed(const absl::Status& why) {
  if (concluded_) return;
  LogDebug("the stream of events broke", {{"job", options_.job_id}, {"why", why.message()}});
  ReportLost(std::string(why.message()));
  redial_pause_ = std::exchange(answered_, false)
                      ? Duration(kShortPause)
                      : std::clamp<Duration>(2 * redial_pause_, kShortPause, kLongestRedialPause);
  redial_ = loop_.After(redial_pause_, [this] { redial_.reset(); });
  LookUp();
}

void YarnMasterSource::OnReport(const absl::StatusOr<backend::ApplicationReport>& report) {
  if (!report.ok()) return OnAway(report.status());
  away_since_.reset();
  if (report->over()) return End(*report);
  if (++looks_ == kShortPauses) watch_.Start(kLongPause);
  if (report->state != backend::ApplicationState::kRunning || report->host.empty()) {
    return OnWaiting(*report);
  }
  // After the job's last event there is nothing to listen to; only YARN's own end is awaited.
  if (concluded_) return;
  const std::string address = absl::StrCat(report->host, ":", report->port);
  // The same address during its backoff is skipped; another address is a new attempt and is dialled
  // now.
  if (address == address_ && redial_ != nullptr) return;
  LogDebug("connecting to the ApplicationMaster", {{"job", options_.job_id}, {"peer", address}});
  watch_.Stop();
  redial_.reset();
  last_notice_.clear();
  address_ = address;
  callbacks_.found(
      std::make_unique<rpc::JobClient>(address_, options_.credentials, kMasterSilenceLimit));
}

void YarnMasterSource::OnWaiting(const backend::ApplicationReport& report) {
  if (clock_.Now() - waiting_since_ < options_.waiting_notice) return;
  const std::string sentence =
      absl::StrCat("waiting for YARN to start the ApplicationMaster in queue ", report.queue, ": ",
                   DiagnosticsOf(report));
  if (std::exchange(last_notice_, sentence) != sentence) callbacks_.notice(sentence);
}

void YarnMasterSource::OnAway(const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    watch_.Stop();
    return callbacks_.over(std::nullopt, status);
  }
  const TimePoint now = clock_.Now();
  if (!away_since_) {
    away_since_ = now;
    callbacks_.notice(
        absl::StrCat("no word of the job at the moment: ", std::string(status.message())));
  }
  if (now - *away_since_ < options_.lease) return;
  watch_.Stop();
  callbacks_.over(std::nullopt, status);
}

void YarnMasterSource::Abandon(const std::string& sentence,
                               std::function<void(absl::Status)> done) {
  watch_.Kill(sentence, std::move(done));
}

void YarnMasterSource::End(const backend::ApplicationReport& report) {
  watch_.Stop();
  exit_notice_.reset();
  exit_deadline_.reset();
  const std::string diagnostics = DiagnosticsOf(report);
  const absl::Status why =
      // Without any attempt nothing of the job has run: YARN refused the application itself.
      report.attempt <= 0
          ? absl::InvalidArgumentError("YARN refuses the application: " + diagnostics)
          : absl::UnavailableError("YARN has ended the application: " + diagnostics);
  callbacks_.over(VerdictOf(report), why);
}

absl::Status YarnMasterSource::ReadEvents(const history::UseEvent& use) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> staging, cluster_.OpenStaging());
  return history::ForEachArchivedEvent(*staging, backend::JobFolderName(options_.job_id), use);
}

std::string YarnMasterSource::AfterLeaving() const {
  return absl::StrCat("once its ApplicationMaster runs it goes on for ", Seconds(options_.lease),
                      " s without a client (tony.client.lease); tony kill ", options_.job_id,
                      " ends it at once");
}

}  // namespace tony::client
