// An engine is a foreign program that may hang, fail half-way or be killed. So a removal has a
// deadline, asks by the container's name, and takes "there is none" for success.
#include "backend/image/image_containers.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend/image/monitors.h"
#include "common/clock.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/tasks/task_exit.h"
#include "logs/last_lines.h"
#include "os/files/wait_readable.h"

namespace tony::backend {
namespace {

/// Exit codes of an engine's client that are its own: it failed itself; the executor cannot be
/// executed; there is no such program.
constexpr int kEngineFailed = 125;
constexpr int kNoProgram = 127;
/// A client reports a program that died of signal N by the code 128 + N.
constexpr int kOfSignal = 128;
/// Lines of the client's output in which its complaint is looked for.
constexpr size_t kComplaintLines = 5;
/// How often a removal that has failed begins anew.
constexpr int kRemovalRetries = 5;

/// The variables for the executor in the form of its option --environment-file. A user who is not
/// root is unknown to most images and has no home there.
std::string EnvironmentText(const std::vector<std::string>& variables, const std::string& user,
                            const std::string& working_folder) {
  std::vector<std::string> all = {absl::StrCat("USER=", user), absl::StrCat("LOGNAME=", user)};
  if (::getuid() != 0) all.push_back(absl::StrCat("HOME=", working_folder));
  all.insert(all.end(), variables.begin(), variables.end());
  std::string text;
  for (const std::string& variable : all) {
    text += variable;
    text.push_back('\0');
  }
  return text;
}

std::vector<gid_t> OwnGroups() {
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(0, count)));
  return groups;
}

}  // namespace

/// A running `rm` of the engine. Not thread safe.
struct ImageContainers::Removal {
  os::Subprocess process;
  int retries = 0;  ///< how often it has begun anew
  std::function<void()> done;
  std::unique_ptr<EventLoop::Handle> deadline;
  std::unique_ptr<EventLoop::Handle> watch;  // declared after `process`, whose pidfd it watches
};

ImageContainers::ImageContainers(EventLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)) {
  if (options_.engine.kind == Engine::Kind::kPodman) {
    child_watch_ = loop_.WatchSignals(
        {SIGCHLD}, [secrets = options_.job_folder.secrets()](int) { ReapMonitors(secrets); });
  }
}

ImageContainers::~ImageContainers() = default;

EngineRun ImageContainers::RunOf(const core::Container& container,
                                 const os::SubprocessRequest& executor) const {
  EngineRun run;
  run.container_id = container.id;
  const auto image = options_.settings.by_type.find(container.type);
  if (image != options_.settings.by_type.end()) run.image = image->second;
  run.job_folder = options_.job_folder.root();
  run.working_folder = executor.working_folder;
  run.runtime = options_.runtime;
  for (const std::string& mount : options_.settings.mounts) {
    run.mounts.push_back(jobfile::ParseImageMount(mount));
  }
  run.writable_folders = options_.writable_folders;
  run.gpus = container.gpus;
  run.rdma = options_.settings.rdma;
  run.user = ::getuid();
  run.group = ::getgid();
  run.more_groups = OwnGroups();
  run.descriptors = executor.inherited_fds.size();
  run.arguments = {executor.arguments.begin() + 1, executor.arguments.end()};
  return run;
}

absl::StatusOr<os::Subprocess> ImageContainers::Start(const core::Container& container,
                                                      os::SubprocessRequest executor,
                                                      const os::FolderHandle& secrets) {
  EngineRun run = RunOf(container, executor);
  if (run.image.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no image for ", container.type));
  }
  const std::string variables = container.id + ".env";
  TONY_RETURN_IF_ERROR(secrets.ReplaceFile(
      variables, EnvironmentText(executor.environment.value_or(std::vector<std::string>()),
                                 options_.user, executor.working_folder)));
  run.arguments.push_back(absl::StrCat("--environment-file=", secrets.PathOf(variables)));
  if (options_.engine.kind == Engine::Kind::kPodman) {
    run.monitor_file = secrets.PathOf(container.id + kMonitorSuffix);
    run.executor_file = secrets.PathOf(container.id + "-executor" + kMonitorSuffix);
  }
  executor.arguments = RunCommand(options_.engine, run);
  // The engine's client needs its user's own variables; the container gets none of them.
  executor.environment = std::nullopt;
  return os::Subprocess::Start(executor);
}

std::optional<core::ContainerEnd> ImageContainers::EngineEnd(const os::ExitStatus& status,
                                                             const std::string& log_path) const {
  const std::string name = options_.engine.name();
  if (status.signal != 0) {
    const core::TaskExit exit{.cause = core::TaskExit::Cause::kSignaled, .signal = status.signal};
    return core::ContainerEnd{.lost = true, .sentence = absl::StrCat(name, " ", exit.Describe())};
  }
  if (status.code < kEngineFailed || status.code > kNoProgram) return std::nullopt;
  return core::ContainerEnd{
      .lost = true,
      .sentence = absl::StrCat(name, " cannot run the container: ",
                               EngineComplaint(logs::LastLines(log_path, kComplaintLines)))};
}

os::ExitStatus ImageContainers::ExecutorStatus(const os::ExitStatus& status) {
  if (status.signal != 0 || status.code <= kOfSignal) return status;
  return {.code = 0, .signal = status.code - kOfSignal};
}

absl::StatusOr<os::Subprocess> ImageContainers::StartRemoval(
    const std::string& container_id) const {
  return os::Subprocess::Start(
      {.arguments = RemoveCommand(options_.engine, EngineName(container_id))});
}

void ImageContainers::Remove(const std::string& container_id, std::function<void()> done) {
  auto process = StartRemoval(container_id);
  if (!process.ok()) {
    LogWarning("a container cannot be removed",
               {{"container", container_id}, {"why", process.status().message()}});
    return loop_.Post(lifetime_.Guard(std::move(done)));
  }
  auto removal =
      std::make_unique<Removal>(Removal{*std::move(process), 0, std::move(done), {}, {}});
  WatchRemoval(container_id, *removal);
  removal->deadline = loop_.After(options_.remove_timeout, [this, container_id] {
    FinishRemoval(container_id, /*in_time=*/false);
  });
  removals_[container_id] = std::move(removal);
}

// Without its monitor podman fails to remove a container once, and leaves it "stopping".
bool ImageContainers::RetryRemoval(const std::string& container_id, Removal& removal) {
  const std::optional<os::ExitStatus> status = removal.process.TryWait();
  if (!status || status->ok() || options_.engine.kind != Engine::Kind::kPodman) return false;
  if (++removal.retries > kRemovalRetries) return false;
  auto process = StartRemoval(container_id);
  if (!process.ok()) return false;
  LogDebug("a container is not removed yet", {{"container", container_id}});
  removal.watch.reset();
  removal.process = *std::move(process);
  WatchRemoval(container_id, removal);
  return true;
}

void ImageContainers::WatchRemoval(const std::string& container_id, Removal& removal) {
  removal.watch = loop_.WatchReadable(removal.process.pidfd(), [this, container_id] {
    const std::string id = container_id;  // outlives the watch, which a retry replaces
    const auto found = removals_.find(id);
    if (found == removals_.end() || RetryRemoval(id, *found->second)) return;
    FinishRemoval(id, /*in_time=*/true);
  });
}

// The removal leaves the map before `done` runs, because `done` may ask for the next one.
void ImageContainers::FinishRemoval(const std::string& container_id, bool in_time) {
  const auto found = removals_.find(container_id);
  if (found == removals_.end()) return;
  const std::unique_ptr<Removal> removal = std::move(found->second);
  removals_.erase(found);
  removal->watch.reset();
  removal->deadline.reset();
  if (in_time) {
    removal->process.TryWait();
    LogDebug("a container is removed", {{"container", container_id}});
  } else {
    removal->process.SignalSession(SIGKILL);
    LogWarning("a container is not removed in time; the next submission tries again",
               {{"container", container_id}, {"engine", options_.engine.name()}});
  }
  removal->done();
}

void ImageContainers::RemoveNow(const std::vector<std::string>& container_ids,
                                Duration limit) const {
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + limit;
  std::vector<os::Subprocess> removals;
  for (const std::string& id : container_ids) {
    auto process = StartRemoval(id);
    if (process.ok()) removals.push_back(*std::move(process));
  }
  for (os::Subprocess& removal : removals) {
    os::WaitReadable(removal.pidfd(), deadline - clock.Now());
    if (!removal.TryWait()) removal.SignalSession(SIGKILL);
  }
}

}  // namespace tony::backend
