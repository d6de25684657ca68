// A task's container is named by TaskChanged events; an ApplicationMaster by JobSubmitted and
// MasterRestarted, each with the address where its node shows its logs.
#include "yarnlogs/log_origins.h"

#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/yarn/container_id.h"
#include "rpc/convert/log_piece.h"

namespace tony::yarnlogs {

std::optional<history::LogOrigin> LogOrigins::Take(const core::JobEvent& event) {
  if (const auto* submitted = std::get_if<core::JobSubmitted>(&event.body)) {
    return OfMaster(1, submitted->master_log_url);
  }
  if (const auto* restarted = std::get_if<core::MasterRestarted>(&event.body)) {
    return OfMaster(restarted->incarnation, restarted->log_url);
  }
  const auto* change = std::get_if<core::TaskChanged>(&event.body);
  if (change == nullptr || change->container.empty() || selection_.of_master()) {
    return std::nullopt;
  }
  const std::string task = change->task.ToString();
  if (!selection_.task.empty() && selection_.task != task &&
      selection_.task != core::TypeName(change->task.type)) {
    return std::nullopt;
  }
  if (!seen_.insert(change->container).second) return std::nullopt;
  return history::LogOrigin{task, change->task.ToPath(), change->container, change->log_url};
}

std::optional<history::LogOrigin> LogOrigins::OfMaster(int incarnation, const std::string& url) {
  const std::string container = rpc::MasterContainer(incarnation);
  if (!selection_.has_master() || !seen_.insert(container).second) return std::nullopt;
  // On YARN there may be ApplicationMasters that the job's events do not name, so YARN's attempt
  // number gives the order, and the incarnation only without one.
  const std::optional<ContainerUrl> shown = ParseContainerUrl(url);
  const std::optional<int> attempt = shown ? AttemptOf(shown->container) : std::nullopt;
  return history::LogOrigin{.task = core::kMasterTaskType,
                            .folder = "",
                            .container = container,
                            .url = url,
                            .order = attempt.value_or(incarnation)};
}

std::optional<ContainerUrl> ParseContainerUrl(const std::string& url) {
  const std::vector<std::string> parts = absl::StrSplit(url, '/');
  if (parts.size() != 7 || parts[3] != "node" || parts[4] != "containerlogs") return std::nullopt;
  return ContainerUrl{absl::StrCat(parts[0], "//", parts[2]), parts[5]};
}

std::optional<int> AttemptOf(const std::string& container) {
  const auto id = backend::ParseContainerId(container);
  if (!id.ok()) return std::nullopt;
  return id->app_attempt_id().attemptid();
}

}  // namespace tony::yarnlogs
