// One folder watch serves all files: each event names the changed file, and the name tells its
// kind.
#include "executor/horovod/driver_files.h"

#include <filesystem>
#include <utility>

#include "common/logging.h"
#include "common/status_macros.h"
#include "core/rendezvous/plan_text.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

/// A plan that cannot be read gets this long to become complete.
constexpr std::chrono::seconds kWritePatience{2};

}  // namespace

absl::StatusOr<std::unique_ptr<DriverFiles>> DriverFiles::Watch(EventLoop& loop,
                                                                const std::string& folder,
                                                                Callbacks callbacks) {
  TONY_RETURN_IF_ERROR(os::RemoveTree(folder));
  TONY_RETURN_IF_ERROR(os::MakeFolders(folder));
  TONY_ASSIGN_OR_RETURN(auto watcher, os::FolderWatcher::Create());
  TONY_RETURN_IF_ERROR(watcher->Watch(folder));
  return std::unique_ptr<DriverFiles>(
      new DriverFiles(loop, std::move(watcher), std::move(callbacks)));
}

DriverFiles::DriverFiles(EventLoop& loop, std::unique_ptr<os::FolderWatcher> watcher,
                         Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), watcher_(std::move(watcher)) {
  watch_ = loop_.WatchReadable(watcher_->fd(), [this] { OnFiles(); });
}

void DriverFiles::OnFiles() {
  const auto paths = watcher_->Wait(std::chrono::milliseconds(0));
  if (!paths.ok()) return LogWarning(std::string(paths.status().message()));
  for (const std::string& path : *paths) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (core::IsPlanFile(name)) OnPlanFile(path, name);
    if (name == core::kWaitFileName) OnWaitFile(path);
    if (name == core::kBeatFileName) callbacks_.on_beat();
  }
}

void DriverFiles::OnWaitFile(const std::string& path) {
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  if (!text.ok()) {
    return LogDebug("the driver's wait is gone before it was read",
                    {{"why", text.status().message()}});
  }
  const absl::StatusOr<core::RendezvousWait> wait = core::ParseWait(*text);
  if (!wait.ok()) return LogWarning(std::string(wait.status().message()));
  callbacks_.on_wait(*wait);
}

void DriverFiles::OnPlanFile(const std::string& path, const std::string& name) {
  const auto plan = [&]() -> absl::StatusOr<core::RendezvousPlan> {
    const std::optional<int> port = core::PortOfPlanFile(name);
    if (!port) {
      return absl::InvalidArgumentError(
          absl::StrCat("the driver's plan is in ", name, ", which is named after no port"));
    }
    TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
    TONY_ASSIGN_OR_RETURN(core::RendezvousPlan parsed, core::ParsePlan(text));
    parsed.port = *port;
    return parsed;
  }();
  patience_.reset();
  if (plan.ok()) {
    if (plan_ == *plan) return;
    plan_ = *plan;
    return callbacks_.on_plan(plan);
  }
  LogDebug("the driver's plan cannot be read (yet)", {{"why", plan.status().message()}});
  patience_ = loop_.After(kWritePatience, [this, why = plan.status()] { callbacks_.on_plan(why); });
}

}  // namespace tony::executor
