// The ledger admits resources as slots; containers are granted only from free slots and run as
// child processes.
#include "backend/local/local_backend.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "backend/local/executor_end.h"
#include "backend/local/executor_finder.h"
#include "common/clock.h"
#include "common/logging.h"
#include "common/overlay_variables.h"
#include "common/status_macros.h"
#include "core/model/container_id.h"
#include "os/containment/cgroup_folder.h"
#include "os/containment/container_remains.h"
#include "os/files/folder_trust.h"
#include "os/files/wait_readable.h"
#include "os/processes/process_handle.h"
#include "os/processes/subprocess.h"

namespace tony::backend {
namespace {

/// The flag for the container's id on an executor's command line (see LaunchContext);
/// ExecutorFinder may have to find the executor by it.
constexpr char kContainerIdFlag[] = "--container-id=";

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Opens the folder `name` in `path`, which is a folder in `job`; creates both if missing.
absl::StatusOr<os::FolderHandle> MakeIn(const os::FolderHandle& job, const std::string& path,
                                        const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle folder, job.OpenOrMake(LastPart(path)));
  return folder.OpenOrMake(name);
}

}  // namespace

/// A running executor: a child of this process, or a process that an earlier ApplicationMaster
/// started. Not thread safe.
struct LocalBackend::Executor {
  std::variant<os::Subprocess, os::ProcessHandle> process;
  std::string log_path;                      // set for a child only
  std::unique_ptr<EventLoop::Handle> watch;  // declared after `process`, whose pidfd it watches

  pid_t pid() const {
    return std::visit([](const auto& kind) { return kind.pid(); }, process);
  }
  int pidfd() const {
    return std::visit([](const auto& kind) { return kind.pidfd(); }, process);
  }
  void Signal(int number) const {
    std::visit([number](const auto& kind) { kind.Signal(number); }, process);
  }
  /// How the executor ended; nullopt while it lives.
  std::optional<core::ContainerEnd> End(const ImageContainers* images) {
    if (const auto* stranger = std::get_if<os::ProcessHandle>(&process)) {
      if (!stranger->ended()) return std::nullopt;
      return core::ContainerEnd{.lost = true, .sentence = "tony-executor has ended"};
    }
    const std::optional<os::ExitStatus> status = std::get<os::Subprocess>(process).TryWait();
    if (!status) return std::nullopt;
    if (images == nullptr) return EndOfExecutor(*status, log_path);
    if (auto end = images->EngineEnd(*status, log_path)) return end;
    return EndOfExecutor(ImageContainers::ExecutorStatus(*status), log_path);
  }
};

LocalBackend::LocalBackend(EventLoop& loop, LocalBackendOptions options, Listener& listener)
    : loop_(loop), options_(std::move(options)), listener_(listener) {
  os::RemoveAbandonedGroups();
}

LocalBackend::~LocalBackend() {
  for (auto& [id, live] : containers_) {
    if (live.executor != nullptr) live.executor->Signal(SIGKILL);
  }
  const SystemClock clock;
  // All executors share one deadline. An executor that cannot be killed keeps the job's claim alive
  // through the inherited descriptor, so its resources stay taken.
  const TimePoint deadline = clock.Now() + options_.kill_timeout;
  std::vector<std::string> ended;
  for (auto& [id, live] : containers_) {
    if (live.executor == nullptr) continue;
    ended.push_back(id);
    os::WaitReadable(live.executor->pidfd(), deadline - clock.Now());
    if (!live.executor->End(options_.images.get())) {
      LogWarning("an executor cannot be killed; what the job holds stays taken until it ends",
                 {{"container", id}, {"pid", live.executor->pid()}});
    }
  }
  if (options_.images != nullptr) options_.images->RemoveNow(ended, options_.kill_timeout);
}

void LocalBackend::Later(std::function<void()> function) {
  loop_.Post(lifetime_.Guard(std::move(function)));
}

absl::Status LocalBackend::OpenClaim() {
  if (claim_ != nullptr) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(Ledger ledger, Ledger::Open(options_.ledger));
  TONY_ASSIGN_OR_RETURN(claim_, LedgerClaim::Open(ledger, options_.job_id));
  ledger_ = std::move(ledger);
  for (const core::Grant& grant : claim_->claim().held) slots_.push_back({.grant = grant});
  return absl::OkStatus();
}

void LocalBackend::Reclaim(const std::vector<core::Container>& containers) {
  if (const absl::Status status = OpenClaim(); !status.ok()) {
    LogWarning(absl::StrCat("the ledger: ", std::string(status.message())));
  }
  ExecutorFinder executors(options_.executor_path, kContainerIdFlag);
  for (const core::Container& container : containers) {
    // New container ids continue behind the reclaimed ones, because an id must never be used twice.
    last_number_ =
        std::max(last_number_, core::NumberOfContainer(options_.job_id, container.id).number);
    LiveContainer live;
    live.container = container;
    live.executor = TakeOver(container, executors);
    if (live.executor != nullptr) {
      LogInfo("an executor is taken over", {{"container", container.id}});
      live.slot = SlotOf(container);
      slots_[*live.slot].taken = true;
    }
    // An executor that has ended is reported later, on the loop: Reclaim() must return first.
    live.state = live.executor != nullptr ? State::kRunning : State::kFailedToStart;
    if (live.executor == nullptr) {
      Later([this, id = container.id] {
        EndWithRemains(
            id, {.lost = true, .sentence = "tony-executor is gone, since when nobody knows"});
      });
    }
    containers_.emplace(container.id, std::move(live));
  }
}

// Finds and watches the executor of a reclaimed container; null if it has ended.
std::unique_ptr<LocalBackend::Executor> LocalBackend::TakeOver(const core::Container& container,
                                                               ExecutorFinder& executors) {
  absl::StatusOr<FoundExecutor> found = executors.Find(container);
  if (!found.ok()) {
    LogInfo(std::string(found.status().message()));
    return nullptr;
  }
  auto executor = std::make_unique<Executor>(Executor{.process = std::move(found->process)});
  Watch(*executor, container.id);
  // Noting the identity in the journal spares the next ApplicationMaster the search.
  if (container.executor != found->identity) TellStarted(container.id, found->identity);
  return executor;
}

void LocalBackend::TellStarted(const std::string& container_id,
                               const core::ExecutorProcess& process) {
  Later([this, container_id, process] { listener_.OnExecutorStarted(container_id, process); });
}

void LocalBackend::Watch(Executor& executor, const std::string& container_id) {
  executor.watch = loop_.WatchReadable(executor.pidfd(),
                                       [this, container_id] { OnExecutorReadable(container_id); });
}

// The free slot that matches the container's grant; a new slot if the ledger does not know it.
size_t LocalBackend::SlotOf(const core::Container& container) {
  const core::Grant grant{.resources = container.resources, .gpus = container.gpus};
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].taken && slots_[i].grant == grant) return i;
  }
  slots_.push_back({.grant = grant});
  return slots_.size() - 1;
}

void LocalBackend::Request(const Requests& requests) {
  requests_.push_back(requests);
  Later([this] { Advance(); });
}

void LocalBackend::GiveBackSpare() {
  const std::vector<size_t> spare = SpareSlots();
  if (spare.empty()) return;
  std::vector<core::Grant> grants;
  for (size_t slot : spare) grants.push_back(slots_[slot].grant);
  if (const absl::Status status = claim_->GiveBack(grants); !status.ok()) {
    LogWarning(absl::StrCat("what the job needs no longer stays taken until it ends: ",
                            std::string(status.message())));
    return;
  }
  for (auto slot = spare.rbegin(); slot != spare.rend(); ++slot) Forget(*slot);
}

// The free slots that no pending request can use, in their order.
std::vector<size_t> LocalBackend::SpareSlots() const {
  std::vector<core::Resources> wanted;
  for (const Requests& requests : requests_) {
    for (const core::ContainerRequest& request : requests) {
      wanted.insert(wanted.end(), static_cast<size_t>(request.count), request.resources);
    }
  }
  std::vector<size_t> spare;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].taken) continue;
    const auto use = std::find(wanted.begin(), wanted.end(), slots_[i].grant.resources);
    if (use == wanted.end()) {
      spare.push_back(i);
    } else {
      wanted.erase(use);
    }
  }
  return spare;
}

void LocalBackend::Forget(size_t slot) {
  slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(slot));
  for (auto& [id, live] : containers_) {
    if (live.slot && *live.slot > slot) --*live.slot;
  }
}

void LocalBackend::CancelRequests() {
  requests_.clear();
  StopWaiting();
}

// Serves requests in their order until one has to wait. What the ledger admits becomes free slots,
// and a request is granted only when free slots cover all of it.
void LocalBackend::Advance() {
  while (!requests_.empty()) {
    const Requests missing = MissingSlots(requests_.front());
    if (missing.empty()) {
      const Requests request = requests_.front();
      requests_.pop_front();
      StopWaiting();
      Grant(request);
      continue;
    }
    const absl::StatusOr<core::Admission> admission = Ask(missing);
    if (!admission.ok()) {
      Refuse(false, std::string(admission.status().message()));
    } else if (const auto* admitted = std::get_if<core::Admitted>(&*admission)) {
      for (const core::Grant& grant : admitted->containers) slots_.push_back({.grant = grant});
    } else if (const auto* never = std::get_if<core::NeverFits>(&*admission)) {
      // The admission counts the job's own slots against it. The refusal is not final while a
      // killed container is still to end and free its share.
      if (const std::optional<core::MustWait> end = AwaitedEnd()) return Wait(*end);
      Refuse(true, never->sentence);
    } else {
      Wait(std::get<core::MustWait>(*admission));
      return;
    }
  }
}

// The part of `requests` that the free slots do not cover.
LocalBackend::Requests LocalBackend::MissingSlots(const Requests& requests) const {
  std::vector<core::Resources> free;
  for (const Slot& slot : slots_) {
    if (!slot.taken) free.push_back(slot.grant.resources);
  }
  Requests missing;
  for (const core::ContainerRequest& request : requests) {
    core::ContainerRequest rest = request;
    for (auto found = free.begin(); rest.count > 0; --rest.count) {
      found = std::find(found, free.end(), request.resources);
      if (found == free.end()) break;
      found = free.erase(found);
    }
    if (rest.count > 0) missing.push_back(rest);
  }
  return missing;
}

absl::StatusOr<core::Admission> LocalBackend::Ask(const Requests& missing) {
  TONY_RETURN_IF_ERROR(OpenClaim());
  // A second Want() would lose the place in the queue. Slots that became free in the meantime may
  // make the admission larger than needed; the surplus stays free.
  if (claim_->claim().wanted.empty()) TONY_RETURN_IF_ERROR(claim_->Want(missing));
  return claim_->TryAdmit(options_.capacity);
}

void LocalBackend::Grant(const Requests& requests) {
  std::vector<core::Container> granted;
  for (const core::ContainerRequest& request : requests) {
    for (int i = 0; i < request.count; ++i) granted.push_back(TakeSlot(request));
  }
  for (const core::Container& container : granted) listener_.OnContainerGranted(container);
}

core::Container LocalBackend::TakeSlot(const core::ContainerRequest& request) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& candidate) {
    return !candidate.taken && candidate.grant.resources == request.resources;
  });
  slot->taken = true;
  LiveContainer live;
  live.container = {.id = core::ContainerId(options_.job_id, {.number = ++last_number_}),
                    .type = request.type,
                    .host = "127.0.0.1",
                    .host_id = options_.host_id,
                    .gpus = slot->grant.gpus,
                    .resources = slot->grant.resources};
  live.slot = static_cast<size_t>(slot - slots_.begin());
  const core::Container container = live.container;
  containers_.emplace(container.id, std::move(live));
  return container;
}

void LocalBackend::Wait(const core::MustWait& reason) {
  if (watch_ == nullptr) {
    watch_ = std::make_unique<LedgerWatch>(loop_, ledger_->WatchedFolders(), [this] { Advance(); });
    Later([this] { Advance(); });  // catches changes made just before the watch began
  }
  if (reason.sentence == waiting_sentence_) return;
  waiting_sentence_ = reason.sentence;
  LogInfo("containers are waited for", {{"why", reason.sentence}, {"unblock", reason.unblock}});
  listener_.OnAllocationWaiting(reason.sentence, reason.unblock);
}

std::optional<core::MustWait> LocalBackend::AwaitedEnd() const {
  for (const auto& [id, live] : containers_) {
    if (!live.killed) continue;
    const std::string executor =
        live.executor == nullptr ? "" : absl::StrCat(" (pid ", live.executor->pid(), ")");
    return core::MustWait{
        .sentence = absl::StrCat("container ", id, " was killed, but its tony-executor", executor,
                                 " has not ended and holds what is needed"),
        .unblock = "its end"};
  }
  return std::nullopt;
}

void LocalBackend::Refuse(bool never_fits, const std::string& sentence) {
  LogWarning("a request is refused", {{"why", sentence}, {"ever", never_fits ? "no" : "yes"}});
  requests_.pop_front();
  StopWaiting();
  listener_.OnAllocationRefused(never_fits, sentence);
}

void LocalBackend::StopWaiting() {
  watch_.reset();
  waiting_sentence_.clear();
  if (claim_ == nullptr) return;
  if (const absl::Status status = claim_->Cancel(); !status.ok()) {
    LogWarning(absl::StrCat("cannot leave the queue: ", std::string(status.message())));
  }
}

void LocalBackend::Launch(const std::string& container_id, const core::LaunchContext& context) {
  // One launch per turn of the loop, because each takes milliseconds: in a large job the executors
  // that already run must get answers before the last executor has been started.
  launches_.emplace_back(container_id, context);
  if (launches_.size() == 1) Later([this] { LaunchNext(); });
}

void LocalBackend::LaunchNext() {
  const auto [container_id, context] = std::move(launches_.front());
  launches_.pop_front();
  if (!launches_.empty()) Later([this] { LaunchNext(); });
  LaunchNow(container_id, context);
}

void LocalBackend::LaunchNow(const std::string& container_id, const core::LaunchContext& context) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end() || found->second.state != State::kGranted) {
    return LogDebug("a launch comes too late", {{"container", container_id}});
  }
  const absl::Status status = Start(found->second, context);
  found->second.state = status.ok() ? State::kRunning : State::kFailedToStart;
  if (status.ok()) {
    return LogDebug("an executor is started",
                    {{"container", container_id}, {"pid", found->second.executor->pid()}});
  }
  LogWarning("an executor cannot be started",
             {{"container", container_id}, {"why", status.message()}});
  Later([this, container_id, sentence = std::string(status.message())] {
    // The executor may have run and been killed again, if no descriptor was left to watch it by.
    EndWithRemains(container_id, {.lost = false, .sentence = sentence});
  });
}

absl::Status LocalBackend::Start(LiveContainer& live, const core::LaunchContext& context) {
  const std::string& id = live.container.id;
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle job, os::OpenOwnFolder(options_.job_folder.root()));
  TONY_RETURN_IF_ERROR(MakeIn(job, options_.job_folder.containers(), id).status());
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle log_folder,
                        MakeIn(job, options_.job_folder.logs(), context.name));
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd log, log_folder.OpenForAppending("executor.log"));
  const std::string secret_path = absl::StrCat(options_.job_folder.secrets(), "/", id, ".pem");
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle secrets,
                        job.OpenOrMake(LastPart(options_.job_folder.secrets())));
  TONY_RETURN_IF_ERROR(secrets.ReplaceFile(LastPart(secret_path), context.secret));
  os::SubprocessRequest request;
  request.arguments = {options_.executor_path};
  request.arguments.insert(request.arguments.end(), context.arguments.begin(),
                           context.arguments.end());
  request.arguments.push_back(absl::StrCat("--credentials=", secret_path));
  request.working_folder = options_.job_folder.container(id);
  request.stdout_fd = log.get();
  request.stderr_fd = log.get();
  request.inherited_fds = {claim_->descriptor()};
  request.inherited_fds.insert(request.inherited_fds.end(), options_.inherited_fds.begin(),
                               options_.inherited_fds.end());
  TONY_ASSIGN_OR_RETURN(os::Subprocess process,
                        StartExecutor(live.container, std::move(request), context, secrets));
  live.executor = std::make_unique<Executor>(Executor{
      .process = std::move(process),
      .log_path = absl::StrCat(options_.job_folder.logs(), "/", context.name, "/executor.log")});
  Watch(*live.executor, id);
  // The pid still denotes this child, because the child has not been reaped.
  if (const auto identity = IdentityOf(live.executor->pid())) TellStarted(id, *identity);
  return absl::OkStatus();
}

// An image has variables of its own, so the variables of this machine stay outside.
absl::StatusOr<os::Subprocess> LocalBackend::StartExecutor(const core::Container& container,
                                                           os::SubprocessRequest request,
                                                           const core::LaunchContext& context,
                                                           const os::FolderHandle& secrets) {
  if (options_.images != nullptr) {
    request.environment = context.environment;
    return options_.images->Start(container, std::move(request), secrets);
  }
  request.environment = OverlaidVariables(options_.environment, context.environment);
  return options_.start_executor(request);
}

void LocalBackend::OnExecutorReadable(const std::string& container_id) {
  Executor& executor = *containers_.at(container_id).executor;
  const std::optional<core::ContainerEnd> end = executor.End(options_.images.get());
  if (!end) return;
  executor.watch.reset();
  LogInfo("an executor has ended", {{"container", container_id}, {"how", end->sentence}});
  // The client of an engine that was not killed has removed its container.
  if (end->lost) return EndWithRemains(container_id, *end);
  End(container_id, *end);
}

void LocalBackend::EndWithRemains(const std::string& container_id, const core::ContainerEnd& end) {
  const auto finish = [this, container_id, end] {
    EndRemains(container_id);
    End(container_id, end);
  };
  if (options_.images == nullptr) return finish();
  options_.images->Remove(container_id, lifetime_.Guard(finish));
}

// Processes are left behind only if the keeper was killed together with its executor.
void LocalBackend::EndRemains(const std::string& container_id) const {
  os::ProcessesBelow below;
  if (options_.other_children) {
    below.own = options_.other_children();
    for (const auto& [id, live] : containers_) {
      if (live.executor != nullptr) below.own->insert(live.executor->pid());
    }
  }
  os::EndContainer(container_id, std::move(below));
}

void LocalBackend::End(const std::string& container_id, const core::ContainerEnd& end) {
  const std::string id =
      container_id;  // copied, because the argument may live in the entry erased below
  const auto found = containers_.find(id);
  if (found->second.slot) slots_[*found->second.slot].taken = false;
  containers_.erase(found);
  listener_.OnContainerEnded(id, end);
  Later([this] { Advance(); });
}

void LocalBackend::Kill(const std::string& container_id) {
  const auto found = containers_.find(container_id);
  if (found == containers_.end()) {
    return LogDebug("a kill finds no container", {{"container", container_id}});
  }
  LiveContainer& live = found->second;
  if (live.state == State::kRunning) {
    LogInfo("an executor is killed", {{"container", container_id}, {"pid", live.executor->pid()}});
    live.killed = true;
    live.executor->Signal(SIGKILL);
  }
  if (live.state != State::kGranted) return;
  const auto launch = std::find_if(launches_.begin(), launches_.end(), [&](const auto& queued) {
    return queued.first == container_id;
  });
  if (launch != launches_.end()) {
    live.state = State::kFailedToStart;
    live.killed = true;
    return Later([this, container_id] {
      End(container_id, {.lost = true, .sentence = "killed before its tony-executor was started"});
    });
  }
  slots_[*live.slot].taken = false;
  containers_.erase(found);
  Later([this] { Advance(); });
}

}  // namespace tony::backend
