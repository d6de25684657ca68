// The owner's side of the keeper: forks it, sends commands, receives events, and cleans up when the
// keeper itself was killed.
#include "os/containment/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/containment/container_remains.h"
#include "os/containment/keeper_process.h"
#include "os/containment/keeper_wire.h"
#include "os/containment/process_tree_containment.h"
#include "os/processes/message_socket.h"
#include "os/processes/process_tree.h"
#include "os/processes/reap_orphans.h"
#include "os/processes/spawn_payload.h"

namespace tony::os {
namespace {

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status ResourceError(const std::string& what) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// A mark that the environment already has, from an outer container, is replaced.
std::vector<std::string> MarkedEnvironment(const std::vector<std::string>& environment,
                                           const std::string& container_id) {
  const std::string prefix = absl::StrCat(kContainerIdVariable, "=");
  std::vector<std::string> marked;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(prefix)) marked.push_back(entry);
  }
  marked.push_back(prefix + container_id);
  return marked;
}

absl::Status CheckRequest(const SpawnRequest& request) {
  if (request.arguments.empty() || request.arguments[0].empty()) {
    return absl::InvalidArgumentError("there is no program to start: the command is empty");
  }
  bool nul = HasNul(request.working_folder) || HasNul(request.program);
  for (const std::string& argument : request.arguments) nul = nul || HasNul(argument);
  for (const std::string& argument : request.fallback) nul = nul || HasNul(argument);
  for (const std::string& entry : request.environment) nul = nul || HasNul(entry);
  if (nul) {
    return absl::InvalidArgumentError(
        absl::StrCat("a NUL character in the command, the environment or the working folder of '",
                     request.arguments[0], "': the operating system cannot pass it on; remove it"));
  }
  return absl::OkStatus();
}

KeeperEvent ToEvent(const KeeperReport& report) {
  switch (report.kind) {
    case KeeperReport::Kind::kStarted:
      return KeeperStarted{.pid = report.pid};
    case KeeperReport::Kind::kSpawnFailed:
      return KeeperSpawnFailed{.message = report.message.data(),
                               .error_number = report.error_number};
    case KeeperReport::Kind::kExited:
      return KeeperExited{.status = report.status,
                          .user_time = report.user_time,
                          .system_time = report.system_time,
                          .max_rss_bytes = report.max_rss_bytes,
                          .memory = report.memory};
    case KeeperReport::Kind::kExecStarted:
      return KeeperExecStarted{.exec = report.exec, .pid = report.pid};
    case KeeperReport::Kind::kExecFailed:
      return KeeperExecFailed{.exec = report.exec,
                              .message = report.message.data(),
                              .error_number = report.error_number};
    case KeeperReport::Kind::kExecExited:
      return KeeperExecExited{
          .exec = report.exec, .status = report.status, .with_tree = report.with_tree};
    case KeeperReport::Kind::kEntered:
    case KeeperReport::Kind::kTreeGone:
      break;
  }
  return KeeperTreeGone{.leftovers = report.leftovers};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Keeper>> Keeper::Start(const std::string& container_id,
                                                      const ContainmentOptions& options) {
  if (container_id.empty() || HasNul(container_id)) {
    return absl::InvalidArgumentError("the container's id is empty or holds a NUL character");
  }
  // When the keeper is killed, its children become children of this process instead of escaping.
  BecomeSubreaper();
  std::string error;
  for (std::unique_ptr<Containment>& way : ContainmentsFor(container_id, options)) {
    const std::string name = way->name();
    absl::Status status = way->Prepare();
    if (status.ok()) {
      absl::StatusOr<std::unique_ptr<Keeper>> keeper = StartIn(container_id, std::move(way));
      if (!absl::IsUnavailable(keeper.status())) return keeper;
      status = keeper.status();
    }
    LogInfo("a way of containment does not work here",
            {{"container", container_id}, {"way", name}, {"why", status.message()}});
    error = absl::StrCat("the containment '", name,
                         "' does not work here: ", std::string(status.message()));
  }
  LogWarning("no allowed way of containment works here", {{"container", container_id}});
  // A keeper is started even if no allowed way works: Spawn() then explains why, in the owner's
  // ordinary path for a failed start.
  TONY_ASSIGN_OR_RETURN(
      std::unique_ptr<Keeper> keeper,
      StartIn(container_id, std::make_unique<ProcessTreeContainment>(container_id)));
  keeper->containment_ = {.error = error};
  return keeper;
}

absl::StatusOr<std::unique_ptr<Keeper>> Keeper::StartIn(const std::string& container_id,
                                                        std::unique_ptr<Containment> way) {
  absl::Cleanup clean_up = [&] {
    if (way) way->CleanUp();
  };
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ResourceError("cannot make the keeper's socket pair");
  }
  UniqueFd own_end(ends[0]);
  UniqueFd keeper_end(ends[1]);
  const pid_t owner = ::getpid();
  // All signals are blocked before the fork, so the keeper ignores signals from its first moment
  // on.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) RunKeeper(keeper_end.get(), owner, *way);
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = fork_error;
  if (pid < 0) return ResourceError("cannot fork the keeper");
  keeper_end.Reset();
  KeeperReport report;
  std::vector<UniqueFd> none;
  if (ReceiveMessage(own_end.get(), report, none, /*wait=*/true) <= 0) {
    ::waitpid(pid, nullptr, 0);
    return absl::ResourceExhaustedError("the keeper ended before it had begun");
  }
  if (report.error_number != 0) {
    ::waitpid(pid, nullptr, 0);
    return absl::UnavailableError(report.message.data());
  }
  Contained contained{.way = std::move(way), .helper = report.pid};
  return std::unique_ptr<Keeper>(
      new Keeper(std::move(own_end), pid, container_id, std::move(contained)));
}

Keeper::Keeper(UniqueFd socket, pid_t pid, std::string container_id, Contained containment)
    : socket_(std::move(socket)),
      pid_(pid),
      container_id_(std::move(container_id)),
      containment_(std::move(containment)) {}

// The keeper kills its tree and closes its end of the socket. The destructor stops waiting after
// two seconds; a keeper that needs longer goes on killing.
Keeper::~Keeper() {
  if (lost_) return;
  ::shutdown(socket_.get(), SHUT_WR);  // the keeper treats this like the owner's death
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + std::chrono::seconds(2);
  while (clock.Now() < deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now());
    pollfd watched{.fd = socket_.get(), .events = POLLIN};
    ::poll(&watched, 1, static_cast<int>(left.count()));
    KeeperReport report;
    std::vector<UniqueFd> none;
    if (ReceiveMessage(socket_.get(), report, none, /*wait=*/false) == 0) {
      ::waitpid(pid_, nullptr, 0);  // the keeper's end of the socket closes during its exit
      // The owner removes what the keeper could not remove from inside.
      if (containment_.way) containment_.way->CleanUp();
      return;
    }
  }
  LogWarning("the keeper needs long to end its processes",
             {{"container", container_id_}, {"pid", pid_}});
}

std::vector<pid_t> Keeper::Processes() const {
  std::vector<pid_t> processes = LikelyDescendants(pid_);
  std::erase(processes, containment_.helper);
  return processes;
}

absl::Status Keeper::Spawn(const SpawnRequest& request) {
  TONY_RETURN_IF_ERROR(CheckRequest(request));
  if (lost_) return absl::UnavailableError("the keeper of this container was killed");
  if (!containment_.error.empty()) return absl::FailedPreconditionError(containment_.error);
  if (occupied_) {
    return absl::FailedPreconditionError(
        "the program started before, or something that it started, is still there");
  }
  TONY_RETURN_IF_ERROR(
      SendSpawn({.kind = KeeperCommand::Kind::kSpawn, .grace = request.leftover_grace}, request,
                {request.stdout_fd, request.stderr_fd}));
  occupied_ = true;
  return absl::OkStatus();
}

absl::Status Keeper::Exec(int exec, const SpawnRequest& request) {
  TONY_RETURN_IF_ERROR(CheckRequest(request));
  if (lost_) return absl::UnavailableError("the keeper of this container was killed");
  if (program_ == 0) return absl::FailedPreconditionError("the task's program does not run");
  return SendSpawn({.kind = KeeperCommand::Kind::kExec, .exec = exec, .terminal = request.terminal},
                   request, {request.stdin_fd, request.stdout_fd, request.stderr_fd});
}

absl::Status Keeper::SignalExec(int exec, int number) {
  return Send({.kind = KeeperCommand::Kind::kSignalExec, .exec = exec, .signal = number});
}

absl::Status Keeper::EndExec(int exec, Duration grace) {
  return Send({.kind = KeeperCommand::Kind::kEndExec, .exec = exec, .grace = grace});
}

absl::Status Keeper::Send(const KeeperCommand& command) {
  if (lost_ || !SendMessage(socket_.get(), command)) {
    return absl::UnavailableError("the keeper of this container was killed");
  }
  return absl::OkStatus();
}

absl::Status Keeper::SendSpawn(const KeeperCommand& command, const SpawnRequest& request,
                               const std::vector<int>& streams) {
  TONY_ASSIGN_OR_RETURN(
      const UniqueFd payload,
      PayloadFile({.arguments = request.arguments,
                   .environment = MarkedEnvironment(request.environment, container_id_),
                   .working_folder = request.working_folder,
                   .program = request.program,
                   .fallback = request.fallback}));
  std::vector<int> descriptors = {payload.get()};
  descriptors.insert(descriptors.end(), streams.begin(), streams.end());
  if (SendMessage(socket_.get(), command, descriptors)) return absl::OkStatus();
  if (errno == EBADF) {
    return absl::InvalidArgumentError("the program's descriptors are not open");
  }
  return absl::UnavailableError(
      absl::StrCat("the keeper of this container does not answer: ", std::strerror(errno)));
}

absl::Status Keeper::Kill(Duration grace) {
  if (!occupied_) {
    LogDebug("there is nothing to end", {{"container", container_id_}});
    return absl::OkStatus();
  }
  return Send({.kind = KeeperCommand::Kind::kKill, .grace = grace});
}

absl::Status Keeper::RenewLease(TimePoint end) {
  return Send({.kind = KeeperCommand::Kind::kLease, .lease_end = end});
}

std::optional<KeeperEvent> Keeper::Next() {
  if (lost_) return std::nullopt;
  KeeperReport report;
  std::vector<UniqueFd> none;
  const ssize_t received = ReceiveMessage(socket_.get(), report, none, /*wait=*/false);
  if (received < 0 && errno == EAGAIN) return std::nullopt;
  // The keeper never closes the socket while its owner lives, so the end means that it was killed.
  if (received <= 0) return CleanUpAfterLoss();
  Note(report);
  return ToEvent(report);
}

void Keeper::Note(const KeeperReport& report) {
  switch (report.kind) {
    case KeeperReport::Kind::kStarted:
      program_ = report.pid;
      return;
    case KeeperReport::Kind::kExited:
      program_ = 0;
      return;
    case KeeperReport::Kind::kExecStarted:
      execs_[report.exec] = report.pid;
      return;
    case KeeperReport::Kind::kExecExited:
      execs_.erase(report.exec);
      return;
    case KeeperReport::Kind::kSpawnFailed:
    case KeeperReport::Kind::kTreeGone:
      occupied_ = false;
      return;
    case KeeperReport::Kind::kEntered:
    case KeeperReport::Kind::kExecFailed:
      return;
  }
}

KeeperLost Keeper::CleanUpAfterLoss() {
  lost_ = true;
  LogWarning("the keeper was killed: ending what it held", {{"container", container_id_}});
  ::waitpid(pid_, nullptr, 0);
  ProcessesBelow below{.own = std::set<pid_t>()};
  // Children of the keeper that die with it.
  for (const pid_t pid : {containment_.helper, program_}) {
    if (pid != 0) below.dying.insert(pid);
  }
  for (const auto& [exec, pid] : execs_) below.dying.insert(pid);
  return {.survivors = EndContainer(container_id_, std::move(below))};
}

}  // namespace tony::os
