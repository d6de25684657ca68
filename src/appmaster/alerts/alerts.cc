// The messages are made on the event loop, which costs microseconds; only sending takes time.
#include "appmaster/alerts/alerts.h"

#include <random>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "jobfile/values/secret_urls.h"
#include "logs/secret_scanner.h"
#include "os/files/files.h"
#include "rpc/security/credentials.h"

namespace tony::appmaster {
namespace {

constexpr size_t kShortestSecret = 16;
/// Limit on the notes about lost alerts, so that a dead receiver does not make the history long.
constexpr int kMostNotes = 10;
/// More of a text is not looked at: an alert takes a thousand bytes of it.
constexpr size_t kMostTextBytes = 4096;

/// The sentences of an alert are tony's, but may quote users.
std::string Clean(absl::string_view text) {
  return logs::WithoutSecrets(text.substr(0, kMostTextBytes));
}

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  if (path.empty()) return std::string();
  TONY_ASSIGN_OR_RETURN(const std::string text, rpc::ReadSecretFile(path));
  const std::string secret(absl::StripAsciiWhitespace(text));
  if (secret.size() >= kShortestSecret) return secret;
  return absl::InvalidArgumentError(absl::StrCat(path, " has a key of fewer than ", kShortestSecret,
                                                 " characters; write a longer one into it"));
}

double RandomShare() {
  thread_local std::mt19937 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Alerts>> Alerts::Create(const jobfile::Configuration& configuration,
                                                       Job job, EventLoop& loop, const Clock& clock,
                                                       Note note) {
  const std::vector<std::string> urls = configuration.GetList("tony.alerts.urls");
  if (urls.empty()) return nullptr;
  TONY_ASSIGN_OR_RETURN(const std::string secret,
                        ReadSecret(configuration.GetText("tony.alerts.secret-file")));
  auto alerts = std::unique_ptr<Alerts>(new Alerts(std::move(job), loop, clock, std::move(note)));
  const http::Network network{configuration.GetText("tony.alerts.proxy"),
                              configuration.GetText("tony.alerts.ca-file")};
  const std::vector<std::string> events = configuration.GetList("tony.alerts.events");
  alerts->wanted_ = {events.begin(), events.end()};
  alerts->slack_ = absl::AsciiStrToLower(configuration.GetText("tony.alerts.format")) == "slack";
  alerts->started_ = alerts->job_.started;
  Alerts* const self = alerts.get();
  for (const std::string& url : urls) {
    TONY_ASSIGN_OR_RETURN(AlertPost post,
                          AlertPost::Create(url, secret, network, std::make_shared<SystemClock>()));
    auto shared = std::make_shared<AlertPost>(std::move(post));
    const AlertSender::Reports reports{
        [self](const std::string& sentence) {
          self->loop_.Post(self->lifetime_.Guard([self, sentence] { self->OnTrouble(sentence); }));
        },
        [self] { self->loop_.Post(self->lifetime_.Guard([self] { self->OnIdle(); })); }};
    alerts->senders_.push_back(std::make_unique<AlertSender>(
        jobfile::SecretUrlServer(url),
        [shared](const AlertMessage& message) { return shared->Send(message); }, RandomShare,
        reports));
  }
  return alerts;
}

core::Alert Alerts::NewAlert(core::AlertEvent event) const {
  core::Alert alert;
  alert.event = event;
  alert.job_id = job_.id;
  alert.name = Clean(job_.name);
  alert.user = job_.user;
  alert.framework = job_.framework;
  alert.backend = job_.backend;
  alert.page = job_.page;
  alert.unix_millis = clock_.UnixMillis();
  alert.state = state_;
  alert.attempt = epoch_ + 1;
  alert.master_attempt = job_.master_attempt;
  return alert;
}

core::Alert Alerts::EndOf(const core::Verdict& verdict) const {
  core::Alert alert = NewAlert(core::AlertEvent::kEnd);
  alert.state = core::OutcomeName(verdict.outcome);
  alert.reason = core::ReasonName(verdict.reason);
  alert.sentence = verdict.sentence;
  alert.guilty = verdict.guilty;
  return alert;
}

void Alerts::Take(const core::JobEvent& event) {
  if (const auto* change = std::get_if<core::JobStateChanged>(&event.body)) {
    state_ = core::JobStateName(change->state);
    epoch_ = change->epoch;
    // After a restart the job runs again, which is no start.
    if (change->state == core::JobState::kRunning && !std::exchange(started_, true)) {
      Send(NewAlert(core::AlertEvent::kStart));
    }
  } else if (const auto* opened = std::get_if<core::EpochOpened>(&event.body)) {
    epoch_ = opened->epoch;
    state_ = core::JobStateName(core::JobState::kRestarting);
    core::Alert alert = NewAlert(core::AlertEvent::kRestart);
    // EpochOpened::error is left out, because the program has printed it.
    alert.sentence = opened->cause;
    alert.guilty = opened->guilty;
    alert.retries_left = opened->retries_left;
    alert.infrastructure_retries_left = opened->infrastructure_retries_left;
    Send(alert);
  } else if (const auto* ended = std::get_if<core::JobEnded>(&event.body)) {
    Send(EndOf(ended->verdict));
  }
}

void Alerts::OnHang(const std::string& sentence) {
  core::Alert alert = NewAlert(core::AlertEvent::kHang);
  alert.sentence = sentence;
  Send(alert);
}

void Alerts::RepeatEnd(const core::Verdict& verdict) { Send(EndOf(verdict)); }

void Alerts::Send(const core::Alert& alert) {
  const std::string event = core::AlertEventName(alert.event);
  if (wanted_.count(event) == 0) return;
  core::Alert clean = alert;
  clean.sentence = Clean(alert.sentence);
  const std::string id = core::AlertId(clean, ++number_);
  const std::string body = slack_ ? core::AlertSlack(clean) : core::AlertJson(clean, id);
  for (const auto& sender : senders_) sender->Push({id, event, body});
}

void Alerts::Finish(std::function<void()> done) {
  if (pending() == 0) return done();
  done_ = std::move(done);
  for (const auto& sender : senders_) sender->Hurry();
  deadline_ = loop_.After(kPatience, [this] {
    LogWarning("alerts are given up at the job's end", {{"alerts", pending()}});
    std::exchange(done_, nullptr)();
  });
}

// After the job's end no note can be recorded, so each sentence is in the log, too.
void Alerts::OnTrouble(const std::string& sentence) {
  LogWarning(sentence);
  if (++notes_ > kMostNotes) return;
  note_(notes_ < kMostNotes
            ? sentence
            : absl::StrCat(sentence, "; further ones are in the ApplicationMaster's log only"));
}

void Alerts::OnIdle() {
  if (done_ == nullptr || pending() > 0) return;
  deadline_.reset();
  std::exchange(done_, nullptr)();
}

size_t Alerts::pending() const {
  size_t count = 0;
  for (const auto& sender : senders_) count += sender->pending();
  return count;
}

}  // namespace tony::appmaster
