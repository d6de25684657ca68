// Everything is posted: orders to the endpoint's thread, reports to the executor's loop.
#include "executor/feed/task_feed.h"

#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/convert_feed.h"

namespace tony::executor {

TaskFeed::TaskFeed(EventLoop& loop, rpc::Credentials credentials,
                   std::function<void(v1::ExecutorMessage)> send)
    : loop_(loop), credentials_(std::move(credentials)), send_(std::move(send)) {}

TaskFeed::~TaskFeed() = default;

absl::Status TaskFeed::Open(const v1::Assignment& assignment, const std::string& working_folder,
                            const std::string& master_address) {
  if (!assignment.has_feed() || endpoint_ != nullptr) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(folder_.Make(working_folder));
  feed::EndpointSetting setting;
  setting.folder = folder_.path();
  setting.task = task_ = rpc::FromProto(assignment.task()).ToString();
  setting.token = assignment.feed().token();
  setting.buffer_bytes = assignment.feed().buffer_bytes();
  setting.credentials = credentials_;
  setting.loopback = absl::StartsWith(master_address, "127.0.0.1:");
  setting.report = [&loop = loop_, take = lifetime_.Guard([this](const core::FeedReport& report) {
    Report(report);
  })](core::FeedReport report) { loop.Post([take, report = std::move(report)] { take(report); }); };
  TONY_ASSIGN_OR_RETURN(endpoint_, feed::EndpointThread::Start(std::move(setting)));
  LogInfo("the task can be fed",
          {{"task", task_}, {"socket", folder_.path()}, {"port", endpoint_->tls_port()}});
  return absl::OkStatus();
}

std::string TaskFeed::program_path() const {
  return endpoint_ == nullptr ? "" : endpoint_->program_path();
}

// An ApplicationMaster that grants a lease, and only then hears what the endpoint holds, would not
// find that lease in it and give it to another worker. What is dropped here is in the report of all
// or is repeated right after it.
void TaskFeed::Report(const core::FeedReport& report) {
  reported_ = reported_ || std::holds_alternative<core::feed_report::Endpoint>(report);
  if (!reported_) return;
  v1::ExecutorMessage message;
  *message.mutable_feed() = rpc::ToProto(report);
  send_(std::move(message));
}

void TaskFeed::OnProgramStarted() {
  if (endpoint_ == nullptr) return;
  endpoint_->Post([](feed::Endpoint& endpoint) { endpoint.OnProgramStarted(); });
}

void TaskFeed::OnProgramEnded(const std::string& how) {
  if (endpoint_ == nullptr) return;
  endpoint_->Post([sentence = absl::StrCat("The program of ", task_, " ", how)](
                      feed::Endpoint& endpoint) { endpoint.OnProgramEnded(sentence); });
}

void TaskFeed::OnAttached() {
  if (endpoint_ == nullptr) return;
  endpoint_->Post([](feed::Endpoint& endpoint) { endpoint.ReportAll(); });
}

void TaskFeed::OnOrder(const v1::FeedOrder& order) {
  const std::optional<core::FeedOrder> plain = rpc::FromProto(order);
  if (endpoint_ == nullptr || !plain) return;
  endpoint_->Post([plain = *plain](feed::Endpoint& endpoint) { endpoint.OnOrder(plain); });
}

}  // namespace tony::executor
