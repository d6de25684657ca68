// Calls of ApplicationClientProtocol, and the conversion of its messages to our reports.
#include "backend/yarn/application_client.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/yarn/capability.h"
#include "common/status_macros.h"
#include "hadoop/yarn/client_protocol.pb.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

/// An ApplicationMaster that was lost longer ago does not count against max_attempts.
constexpr std::chrono::minutes kFailuresCount{10};

std::string FormatApplicationId(const yarn::ApplicationIdProto& id) {
  char number[16];
  std::snprintf(number, sizeof number, "%04d", id.id());
  return absl::StrCat("application_", id.cluster_timestamp(), "_", number);
}

absl::StatusOr<yarn::ApplicationIdProto> ParseApplicationId(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '_');
  int64_t timestamp = 0;
  int number = 0;
  if (parts.size() != 3 || parts[0] != "application" || !absl::SimpleAtoi(parts[1], &timestamp) ||
      !absl::SimpleAtoi(parts[2], &number) || timestamp <= 0 || number <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no id of an application, like application_1700000000000_0042"));
  }
  yarn::ApplicationIdProto id;
  id.set_cluster_timestamp(timestamp);
  id.set_id(number);
  return id;
}

ApplicationState StateOf(yarn::YarnApplicationStateProto state) {
  switch (state) {
    case yarn::NEW:
    case yarn::NEW_SAVING:
    case yarn::SUBMITTED:
      return ApplicationState::kSubmitted;
    case yarn::ACCEPTED:
      return ApplicationState::kAccepted;
    case yarn::RUNNING:
      return ApplicationState::kRunning;
    case yarn::FINISHED:
      return ApplicationState::kFinished;
    case yarn::FAILED:
      return ApplicationState::kFailed;
    case yarn::KILLED:
      return ApplicationState::kKilled;
  }
  return ApplicationState::kSubmitted;
}

FinalStatus FinalStatusOf(yarn::FinalApplicationStatusProto status) {
  switch (status) {
    case yarn::APP_UNDEFINED:
    case yarn::APP_ENDED:
      return FinalStatus::kUnknown;
    case yarn::APP_SUCCEEDED:
      return FinalStatus::kSucceeded;
    case yarn::APP_FAILED:
      return FinalStatus::kFailed;
    case yarn::APP_KILLED:
      return FinalStatus::kKilled;
  }
  return FinalStatus::kUnknown;
}

ApplicationReport ReportOf(const yarn::ApplicationReportProto& proto) {
  ApplicationReport report;
  report.id = FormatApplicationId(proto.applicationid());
  report.state = StateOf(proto.yarn_application_state());
  report.name = proto.name();
  report.user = proto.user();
  report.queue = proto.queue();
  // Before the registration YARN reports the host "N/A" and the port -1.
  if (proto.rpc_port() > 0) {
    report.host = proto.host();
    report.port = proto.rpc_port();
  }
  report.attempt = proto.currentapplicationattemptid().attemptid();
  report.final_status = FinalStatusOf(proto.final_application_status());
  if (proto.has_diagnostics()) report.diagnostics = proto.diagnostics();
  report.submitted_millis = proto.starttime();
  report.finished_millis = proto.finishtime();
  return report;
}

yarn::ApplicationSubmissionContextProto ContextOf(const ApplicationRequest& request,
                                                  const yarn::ApplicationIdProto& id) {
  yarn::ApplicationSubmissionContextProto context;
  *context.mutable_application_id() = id;
  context.set_application_name(request.name);
  context.set_applicationtype(request.type);
  context.set_queue(request.queue);
  context.mutable_priority()->set_priority(request.priority);
  context.add_applicationtags(kApplicationTag);
  for (const std::string& tag : request.tags) context.add_applicationtags(tag);
  context.set_maxappattempts(request.max_attempts);
  context.set_cancel_tokens_when_complete(!request.keeps_tokens);
  // The containers outlive a lost ApplicationMaster: the next attempt takes them over.
  context.set_keep_containers_across_application_attempts(true);
  context.set_attempt_failures_validity_interval(std::chrono::milliseconds(kFailuresCount).count());
  AllocationOptions allocation;
  allocation.gpu_resource = request.gpu_resource;
  *context.mutable_resource() = CapabilityOf({"am", 1, request.resources}, allocation);
  if (!request.node_label.empty()) {
    yarn::ResourceRequestProto* const ask = context.add_am_container_resource_request();
    ask->mutable_priority()->set_priority(0);
    ask->set_resource_name("*");
    *ask->mutable_capability() = context.resource();
    ask->set_num_containers(1);
    ask->set_node_label_expression(request.node_label);
  }
  // Nothing is collected while an executor runs; its logs are collected at its end, like everything
  // else.
  context.mutable_log_aggregation_context()->set_rolled_logs_include_pattern("");
  return context;
}

absl::StatusOr<yarn::KillApplicationRequestProto> KillOf(const std::string& id,
                                                         const std::string& sentence) {
  yarn::KillApplicationRequestProto request;
  TONY_ASSIGN_OR_RETURN(*request.mutable_application_id(), ParseApplicationId(id));
  request.set_diagnostics(sentence);
  return request;
}

}  // namespace

bool IsApplicationId(const std::string& text) { return ParseApplicationId(text).ok(); }

bool IsOlderApplication(const std::string& left, const std::string& right) {
  const auto key = [](const std::string& text) {
    const absl::StatusOr<yarn::ApplicationIdProto> id = ParseApplicationId(text);
    return id.ok() ? std::pair<int64_t, int>(id->cluster_timestamp(), id->id())
                   : std::pair<int64_t, int>(0, 0);
  };
  return key(left) < key(right);
}

std::vector<std::string> NewestApplications(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !IsApplicationId(name); });
  std::sort(names.begin(), names.end(), [](const std::string& left, const std::string& right) {
    return IsOlderApplication(right, left);
  });
  return names;
}

absl::StatusOr<ApplicationClient::NewApplication> ApplicationClient::Create(
    const std::string& gpu_resource) {
  TONY_ASSIGN_OR_RETURN(const auto response,
                        rpc_.Call<yarn::GetNewApplicationResponseProto>(
                            "getNewApplication", yarn::GetNewApplicationRequestProto(), timeout_));
  return NewApplication{FormatApplicationId(response.application_id()),
                        ResourcesOf(response.maximumcapability(), gpu_resource),
                        OthersOf(response.maximumcapability(), gpu_resource)};
}

absl::StatusOr<std::set<std::string>> ApplicationClient::NodeLabels() {
  TONY_ASSIGN_OR_RETURN(
      const auto response,
      rpc_.Call<yarn::GetClusterNodeLabelsResponseProto>(
          "getClusterNodeLabels", yarn::GetClusterNodeLabelsRequestProto(), timeout_));
  std::set<std::string> names;
  for (const yarn::NodeLabelProto& label : response.nodelabels()) names.insert(label.name());
  return names;
}

absl::Status ApplicationClient::Submit(const ApplicationRequest& request) {
  TONY_ASSIGN_OR_RETURN(const yarn::ApplicationIdProto id, ParseApplicationId(request.id));
  yarn::SubmitApplicationRequestProto message;
  *message.mutable_application_submission_context() = ContextOf(request, id);
  TONY_ASSIGN_OR_RETURN(
      *message.mutable_application_submission_context()->mutable_am_container_spec(),
      MakeLaunchContext(request.launch, {}));
  return rpc_.Call<yarn::SubmitApplicationResponseProto>("submitApplication", message, timeout_)
      .status();
}

absl::StatusOr<ApplicationReport> ApplicationClient::Report(const std::string& id) {
  yarn::GetApplicationReportRequestProto request;
  TONY_ASSIGN_OR_RETURN(*request.mutable_application_id(), ParseApplicationId(id));
  TONY_ASSIGN_OR_RETURN(const auto response, rpc_.Call<yarn::GetApplicationReportResponseProto>(
                                                 "getApplicationReport", request, timeout_));
  return ReportOf(response.application_report());
}

absl::Status ApplicationClient::Kill(const std::string& id, const std::string& sentence) {
  TONY_ASSIGN_OR_RETURN(const yarn::KillApplicationRequestProto request, KillOf(id, sentence));
  return rpc_.Call<yarn::KillApplicationResponseProto>("forceKillApplication", request, timeout_)
      .status();
}

absl::StatusOr<std::vector<ApplicationReport>> ApplicationClient::List(const std::string& user) {
  yarn::GetApplicationsRequestProto request;
  request.add_applicationtags(kApplicationTag);
  request.add_users(user);
  TONY_ASSIGN_OR_RETURN(const auto response, rpc_.Call<yarn::GetApplicationsResponseProto>(
                                                 "getApplications", request, timeout_));
  std::vector<ApplicationReport> reports;
  for (const auto& report : response.applications()) reports.push_back(ReportOf(report));
  return reports;
}

ApplicationWatch::ApplicationWatch(EventLoop& loop, hadoop::RpcClientOptions options,
                                   std::string id, Duration timeout, OnReport on_report)
    : loop_(loop),
      rpc_(loop, std::move(options)),
      id_(std::move(id)),
      timeout_(timeout),
      on_report_(std::move(on_report)) {}

void ApplicationWatch::Start(Duration interval) {
  interval_ = interval;
  on_ = true;
  if (!asked_) next_ = loop_.After(Duration::zero(), [this] { Ask(); });
}

void ApplicationWatch::Stop() {
  on_ = false;
  next_.reset();
}

void ApplicationWatch::Kill(const std::string& sentence, std::function<void(absl::Status)> done) {
  const absl::StatusOr<yarn::KillApplicationRequestProto> request = KillOf(id_, sentence);
  if (!request.ok()) return done(request.status());
  rpc_.Call<yarn::KillApplicationResponseProto>(
      "forceKillApplication", *request, timeout_, hadoop::Retry::kUntilDeadline,
      [done = std::move(done)](const absl::StatusOr<yarn::KillApplicationResponseProto>& response) {
        done(response.status());
      });
}

void ApplicationWatch::Ask() {
  const absl::StatusOr<yarn::ApplicationIdProto> id = ParseApplicationId(id_);
  if (!id.ok()) return on_report_(id.status());
  yarn::GetApplicationReportRequestProto request;
  *request.mutable_application_id() = *id;
  asked_ = true;
  rpc_.Call<yarn::GetApplicationReportResponseProto>(
      "getApplicationReport", request, timeout_, hadoop::Retry::kUntilDeadline,
      [this](const absl::StatusOr<yarn::GetApplicationReportResponseProto>& response) {
        asked_ = false;
        if (!on_) return;
        next_ = loop_.After(interval_, [this] { Ask(); });
        if (!response.ok()) return on_report_(response.status());
        on_report_(ReportOf(response->application_report()));
      });
}

}  // namespace tony::backend
