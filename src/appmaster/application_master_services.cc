// The services for clients and executors. gRPC's threads call them, and everything is posted to the
// loop.
#include <utility>

#include "absl/strings/str_cat.h"
#include "appmaster/application_master.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/job/date_input.h"
#include "logs/container_logs.h"
#include "rpc/convert/convert_stacks.h"
#include "rpc/security/derived_secret.h"

namespace tony::appmaster {
namespace {

/// Purpose from which the token for producers of data is derived.
constexpr char kFeedPurpose[] = "tony.feed";

}  // namespace

void ApplicationMaster::MakeServices() {
  // gRPC's threads call the callbacks of the relay and of both services. Each one only posts to the
  // event loop, so that the state machine and everything around it needs no lock.
  relay_ = std::make_unique<rpc::TunnelRelay>([this](const rpc::TunnelRelay::Wish& wish) {
    loop_.Post([this, wish] { tunnels_->Take(wish); });
  });
  executor_service_ =
      std::make_unique<rpc::ExecutorService>(platform_->job_id(), *relay_, MakeSinks());
  stacks_ = std::make_unique<StackCollector>(loop_, clock_, *machine_, *executor_service_);
  node_logs_ = std::make_unique<NodeLogs>(
      loop_, clock_, *machine_, *executor_service_,
      absl::StrCat(platform_->own_log_folder(), "/", logs::kMasterLogName));
  tunnels_ = std::make_unique<Tunnels>(
      loop_, *machine_, *executor_service_, *relay_,
      [this](const auto& wish) { return SendOwnLogs(wish); },
      [this](const std::string& note) { RecordExec(note); });
  own_logs_ = std::make_unique<rpc::LogSenders>(loop_, platform_->own_log_folder());
  rpc::JobService::Callbacks callbacks;
  callbacks.on_stop = [this](const std::string& reason) {
    loop_.Post([this, reason] { Stop(core::Reason::kKilledByUser, reason); });
  };
  callbacks.on_note = [this](const std::string& sentence) {
    loop_.Post([this, sentence] { RecordClientsNote(sentence); });
  };
  callbacks.on_owner_attached = [this] { loop_.Post([this] { OnOwnerAttached(); }); };
  callbacks.on_owner_gone = [this] {
    LogInfo("the stream of the client that owns the job broke", {{"job", platform_->job_id()}});
    // The next attempt of a step may follow the job already.
    loop_.Post([this] {
      if (--owners_ == 0) AwaitOwner();
    });
  };
  callbacks.on_page = [this](rpc::JobService::AnswerPage answer) {
    loop_.Post([this, answer = std::move(answer)] { answer(page_entry_->Invite()); });
  };
  callbacks.on_stacks = [this](const std::vector<core::TaskId>& tasks,
                               rpc::JobService::AnswerStacks answer) {
    loop_.Post([this, tasks, answer = std::move(answer)] { stacks_->Collect(tasks, answer); });
  };
  AnswerFeedCalls(callbacks);
  job_service_ =
      std::make_unique<rpc::JobService>(platform_->job_id(), event_log_, *relay_, callbacks);
}

rpc::ExecutorService::Sinks ApplicationMaster::MakeSinks() {
  rpc::ExecutorService::Sinks sinks;
  sinks.inputs = [this](core::JobInput input) {
    // Dated here, where it arrives: the loop may be busy, and hosts' clocks differ.
    core::DateInput(clock_.UnixMillis(), input);
    loop_.Post([this, input = std::move(input)] { Take(input); });
  };
  sinks.feeds = [this](const std::string& container, core::FeedReport report) {
    loop_.Post([this, container, report = std::move(report)] {
      if (feeds_ != nullptr) feeds_->Take(container, report);
    });
  };
  sinks.stacks = [this](const std::string& container, const v1::TaskStacks& stacks) {
    loop_.Post([this, container, request = stacks.request(), attempt = stacks.attempt(),
                trouble = stacks.trouble(), dumps = rpc::FromProto(stacks)] {
      stacks_->Take(container, request, attempt, trouble, dumps);
    });
  };
  sinks.log_lines = [this](const std::string& container, v1::LogLines& lines) {
    loop_.Post([this, container, lines = std::make_shared<v1::LogLines>(std::move(lines))] {
      node_logs_->TakeLines(container, std::move(*lines));
    });
  };
  return sinks;
}

void ApplicationMaster::AnswerFeedCalls(rpc::JobService::Callbacks& callbacks) {
  callbacks.on_feeds = [this](rpc::JobService::AnswerFeeds answer) {
    loop_.Post([this, answer = std::move(answer)] {
      if (feeds_ == nullptr) return answer(rpc::JobService::NotFed());
      answer(feeds_->Describe());
    });
  };
  callbacks.on_end_feed = [this](const std::string& feed, rpc::JobService::AnswerEndFeed answer) {
    loop_.Post([this, feed, answer = std::move(answer)] {
      answer(feeds_ == nullptr ? rpc::JobService::NotFed() : feeds_->End(feed));
    });
  };
}

absl::Status ApplicationMaster::OpenFeeds(const jobfile::Configuration& configuration,
                                          const std::string& authority_pem) {
  if (!configuration.GetBoolean("tony.feed.enabled")) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const std::string token, rpc::DeriveSecret(authority_pem, kFeedPurpose));
  // Executors are signed under the name that this role's peers have.
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials own,
                        authority_->Issue(rpc::ApplicationMasterRole(platform_->job_id())));
  assignments_->set_feed(configuration.GetMemoryMb("tony.feed.buffer") << 20, token);
  feeds_ = std::make_unique<Feeds>(
      Feeds::Parts{loop_, clock_, *machine_, *executor_service_, token, own.ca_pem},
      journal_->incarnation() > 1);
  return absl::OkStatus();
}

}  // namespace tony::appmaster
