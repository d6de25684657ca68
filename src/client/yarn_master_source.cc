// Looking at the report while there is nobody to listen to.
#include "client/yarn_master_source.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backend/yarn/yarn_job.h"
#include "client/yarn_access.h"

namespace tony::client {
namespace {

/// Between two looks: in the time that a start usually takes, and after it.
constexpr std::chrono::milliseconds kShortPause{100};
constexpr std::chrono::milliseconds kLongPause{500};
constexpr int kShortPauses = 50;

void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

/// YARN's sentences have lines, and empty ones among them.
std::string OneLine(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty()), " ");
}

}  // namespace

YarnMasterSource::YarnMasterSource(EventLoop& loop, const backend::YarnCluster& cluster,
                                   Options options)
    : loop_(loop),
      cluster_(cluster),
      options_(std::move(options)),
      watch_(loop, cluster.application_client(), options_.job_id, cluster.timeout(),
             [this](const auto& report) { OnReport(report); }) {}

void YarnMasterSource::Start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  Look();
}

void YarnMasterSource::Look() {
  looks_ = 0;
  waiting_since_ = SystemClock().Now();
  watch_.Start(kShortPause);
}

void YarnMasterSource::OnStreamClosed(bool concluded) {
  concluded_ = concluded;
  if (!concluded) {
    // YARN goes on for a while to name one that is gone, and that one is tried again and again.
    next_look_ = loop_.After(kShortPause, [this] { Look(); });
    return;
  }
  exit_deadline_ = loop_.After(options_.exit_deadline, [this] {
    watch_.Stop();
    callbacks_.over(std::nullopt, absl::OkStatus());
  });
  Look();
}

void YarnMasterSource::OnNoAnswer() {
  Say(absl::StrCat("the ApplicationMaster at ", address_,
                   " does not answer; can this machine reach the cluster's nodes?"));
}

void YarnMasterSource::OnReport(const absl::StatusOr<backend::ApplicationReport>& report) {
  if (!report.ok()) return OnAway(report.status());
  away_since_.reset();
  if (report->over()) return End(*report);
  if (++looks_ == kShortPauses) watch_.Start(kLongPause);
  if (report->state != backend::ApplicationState::kRunning || report->host.empty()) {
    return OnWaiting(*report);
  }
  // Its last word is said: there is nothing to listen to.
  if (concluded_) return;
  watch_.Stop();
  said_.clear();
  address_ = absl::StrCat(report->host, ":", report->port);
  callbacks_.found(std::make_unique<rpc::JobClient>(address_, options_.credentials));
}

void YarnMasterSource::OnWaiting(const backend::ApplicationReport& report) {
  if (SystemClock().Now() - waiting_since_ < options_.waiting_notice) return;
  const std::string sentence =
      absl::StrCat("waiting for YARN to start the ApplicationMaster in queue ", report.queue, ": ",
                   OneLine(report.diagnostics));
  if (std::exchange(said_, sentence) != sentence) Say(sentence);
}

void YarnMasterSource::OnAway(const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    watch_.Stop();
    return callbacks_.over(std::nullopt, status);
  }
  const TimePoint now = SystemClock().Now();
  if (!away_since_) {
    away_since_ = now;
    Say(absl::StrCat("no word of the job at the moment: ", std::string(status.message())));
  }
  if (now - *away_since_ < options_.away_limit) return;
  watch_.Stop();
  callbacks_.over(std::nullopt, status);
}

absl::Status YarnMasterSource::Abandon(const std::string& sentence) {
  backend::ApplicationClient client(cluster_.application_client(), cluster_.timeout());
  return client.Kill(options_.job_id, sentence);
}

void YarnMasterSource::End(const backend::ApplicationReport& report) {
  watch_.Stop();
  exit_deadline_.reset();
  const std::string diagnostics = OneLine(report.diagnostics);
  if (report.state == backend::ApplicationState::kKilled) {
    return callbacks_.over(KilledByYarn(diagnostics), absl::OkStatus());
  }
  const absl::Status why =
      report.attempt <= 0
          ? absl::InvalidArgumentError("YARN refuses the application: " + diagnostics)
          : absl::UnavailableError("YARN has ended the application: " + diagnostics);
  callbacks_.over(std::nullopt, why);
}

void YarnMasterSource::ReadEvents(const UseEvent& use) {
  const auto staging = cluster_.OpenStaging();
  if (!staging.ok()) return Say(std::string(staging.status().message()));
  const absl::Status read =
      ForEachArchivedEvent(**staging, backend::JobFolderName(options_.job_id), use);
  if (!read.ok()) Say(std::string(read.message()));
}

}  // namespace tony::client
