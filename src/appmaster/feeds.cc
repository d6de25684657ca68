// Reports go to the table, the table's effects to the executors.
#include "appmaster/feeds.h"

#include <algorithm>
#include <set>
#include <utility>

#include "appmaster/assignments.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert_feed.h"

namespace tony::appmaster {
namespace {

/// Executors attach again within tony's reattach limit; this is added for their first report.
constexpr std::chrono::seconds kReportPatience{2};

std::set<std::string> FedContainers(const core::JobMachine& machine) {
  std::set<std::string> containers;
  for (const core::Task& task : machine.tasks().all()) {
    if (task.container && IsFed(task)) containers.insert(task.container->id);
  }
  return containers;
}

}  // namespace

Feeds::Feeds(Parts parts, bool restarted)
    : parts_(std::move(parts)),
      table_(restarted ? FedContainers(parts_.machine) : std::set<std::string>(),
             parts_.clock.Now() + parts_.machine.job().timeouts.reattach + kReportPatience) {
  AwaitDeadline();
}

void Feeds::AwaitDeadline() {
  const std::optional<TimePoint> next = table_.NextDeadline();
  if (!next) return deadline_.reset();
  if (deadline_ != nullptr) return;
  deadline_ = parts_.loop.After(*next - parts_.clock.Now(), [this] {
    deadline_.reset();
    LogInfo("not all endpoints have reported which partitions they hold; the others go on");
    CarryOut(table_.OnTime(parts_.clock.Now()));
    AwaitDeadline();
  });
}

void Feeds::Take(const std::string& container, const core::FeedReport& report) {
  // A late report of a container that is gone would bring its endpoint back.
  if (parts_.machine.tasks().FindByContainer(container) == nullptr) {
    return LogDebug("a report about a feed comes late", {{"container", container}});
  }
  CarryOut(table_.Apply(container, report));
  AwaitDeadline();
}

// The machine decides when a container is gone: it also gives up those whose end nobody reports,
// and keeps one that may still run though its backend has lost it.
void Feeds::OnStep() {
  const core::TaskTable& tasks = parts_.machine.tasks();
  if (std::exchange(unbound_, tasks.unbound()) == tasks.unbound()) return;
  for (const std::string& container : table_.Containers()) {
    if (tasks.FindByContainer(container) == nullptr) CarryOut(table_.OnLost(container));
  }
  AwaitDeadline();
}

void Feeds::CarryOut(const core::FeedTable::Effects& effects) {
  for (const core::FeedTable::Effect& effect : effects) {
    v1::MasterMessage message;
    *message.mutable_feed() = rpc::ToProto(effect.order);
    // An executor without a stream reports everything again on its next one.
    const absl::Status sent = parts_.executors.Send(effect.container, message);
    if (!sent.ok()) LogDebug(std::string(sent.message()), {{"container", effect.container}});
  }
}

core::JobFeeds Feeds::Describe() const {
  core::JobFeeds feeds;
  feeds.token = parts_.token;
  feeds.authority = parts_.authority;
  feeds.feeds = table_.Views();
  for (const core::Task& task : parts_.machine.tasks().all()) {
    if (!task.container || task.state != core::TaskState::kRunning) continue;
    const auto endpoint = table_.endpoints().find(task.container->id);
    if (endpoint == table_.endpoints().end()) continue;
    feeds.tasks.push_back({task.id.ToString(), task.container->host, task.container->host_id,
                           endpoint->second.unix_path, endpoint->second.tls_port,
                           task.container->id, task.attempt});
  }
  return feeds;
}

absl::Status Feeds::End(const std::string& feed) {
  TONY_ASSIGN_OR_RETURN(const core::FeedTable::Effects effects, table_.End(feed));
  LogInfo("a client ends a feed", {{"feed", feed}});
  CarryOut(effects);
  return absl::OkStatus();
}

}  // namespace tony::appmaster
