// The keeper's loop: a poll() over the owner's socket and a signalfd for SIGCHLD, with two
// deadlines: one after which it kills the tree, and the lease after which it suspends the tree.
#include "os/containment/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "os/containment/keeper_spawn.h"
#include "os/containment/keeper_wire.h"
#include "os/processes/message_socket.h"
#include "os/processes/process_tree.h"

namespace tony::os {
namespace {

constexpr int kSocket = 3;  // descriptor number that Isolate() gives the socket
constexpr Duration kFirstRetry = std::chrono::milliseconds(1);
constexpr Duration kLastRetry = std::chrono::milliseconds(100);

Duration FromTimeval(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

void SetMessage(KeeperReport& report, const std::string& message) {
  message.copy(report.message.data(), report.message.size() - 1);
}

// An owner that ends the keeper shuts down only its side of the socket; an owner that has died has
// closed the socket.
bool OwnerLives() {
  pollfd watched{.fd = kSocket};
  return ::poll(&watched, 1, 0) == 0 || (watched.revents & POLLHUP) == 0;
}

/// Not thread safe: the keeper has one thread.
class KeeperProcess {
 public:
  KeeperProcess(UniqueFd child_signals, Containment& containment)
      : child_signals_(std::move(child_signals)), containment_(containment) {}

  [[noreturn]] void Run() {
    while (true) {
      if (owner_gone_ && state_ == State::kIdle) {
        containment_.Leave(OwnerLives());
        ::_exit(0);
      }
      Wait();
      Reap();
      Advance();
    }
  }

 private:
  enum class State { kIdle, kRunning, kLeftovers };

  void Wait();
  void Handle(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors);
  void Spawn(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors);
  void Exec(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors);
  void EndExec(const KeeperCommand& command);
  void HangUpExecs();
  void KillExecs();
  void Terminate(Duration grace);
  void Reap();
  void OnExited(pid_t pid, int status, const rusage& usage);
  void Advance();
  void FinishTree();
  void SignalAll(int number);
  void Report(const KeeperReport& report) { SendMessage(kSocket, report); }
  int PollTimeout() const;
  bool LeaseExpired() const { return lease_end_ && clock_.Now() >= *lease_end_; }
  void EnforceLease(bool expired);

  // A command that runs beside the program, the leader of a session.
  struct ExecCommand {
    int number = 0;
    std::optional<TimePoint> kill_at;  // set while the command is being ended
  };

  const UniqueFd child_signals_;
  Containment& containment_;
  const SystemClock clock_;
  State state_ = State::kIdle;
  bool owner_gone_ = false;
  pid_t program_ = 0;
  std::map<pid_t, ExecCommand> execs_;  // until they are reaped
  Duration leftover_grace_{0};
  std::optional<TimePoint> kill_at_;  // set while the tree is being terminated
  std::optional<TimePoint> wake_at_;  // when Advance() has to act although nothing happens
  Duration retry_ = kFirstRetry;
  std::optional<TimePoint> lease_end_;  // end of the program's lease; nothing: no limit
  bool suspended_ = false;
  std::set<pid_t> signalled_leftovers_;
};

int KeeperProcess::PollTimeout() const {
  if (!wake_at_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*wake_at_ - clock_.Now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void KeeperProcess::Wait() {
  pollfd watched[] = {{.fd = child_signals_.get(), .events = POLLIN},
                      {.fd = owner_gone_ ? -1 : kSocket, .events = POLLIN}};
  if (::poll(watched, 2, PollTimeout()) <= 0) return;
  if (watched[0].revents != 0) {
    signalfd_siginfo ignored;
    while (::read(child_signals_.get(), &ignored, sizeof(ignored)) > 0) {
    }
  }
  // The end of the socket is the owner's death or its request to end: the tree is killed without
  // grace, and Run() exits as soon as nothing is left.
  if (watched[1].revents == 0) return;
  KeeperCommand command;
  std::vector<UniqueFd> descriptors;
  if (ReceiveMessage(kSocket, command, descriptors, /*wait=*/true) > 0) {
    Handle(command, descriptors);
  } else {
    owner_gone_ = true;
    if (state_ != State::kIdle) Terminate(Duration::zero());
  }
}

void KeeperProcess::Handle(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors) {
  switch (command.kind) {
    case KeeperCommand::Kind::kSpawn:
      if (state_ == State::kIdle) Spawn(command, descriptors);
      return;
    case KeeperCommand::Kind::kExec:
      return Exec(command, descriptors);
    case KeeperCommand::Kind::kSignalExec:
      for (const auto& [pid, exec] : execs_) {
        if (exec.number == command.exec) ::kill(-pid, command.signal);
      }
      return;
    case KeeperCommand::Kind::kEndExec:
      return EndExec(command);
    case KeeperCommand::Kind::kKill:
      if (state_ != State::kIdle) Terminate(command.grace);
      return;
    case KeeperCommand::Kind::kLease:
      lease_end_ = command.lease_end;
      return;
  }
}

void KeeperProcess::Spawn(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors) {
  SpawnResult result{.error_number = EMFILE, .message = "the keeper has no descriptors left"};
  // Descriptors for which this process has no room get lost on the way.
  if (descriptors.size() == 3) {
    containment_.BeginCounting();
    result = SpawnProgram(containment_, ReadPayloadFile(descriptors[0].get()),
                          {.out = descriptors[1].get(), .err = descriptors[2].get()});
  }
  KeeperReport report;
  if (result.error_number != 0) {
    report.kind = KeeperReport::Kind::kSpawnFailed;
    report.error_number = result.error_number;
    SetMessage(report, result.message);
    Report(report);
    return;
  }
  program_ = result.pid;
  containment_.Started(result.pid);
  state_ = State::kRunning;
  leftover_grace_ = command.grace;
  report.kind = KeeperReport::Kind::kStarted;
  report.pid = result.pid;
  Report(report);
}

// Between the program's end and that of the tree nothing new is started: the tree could not become
// empty.
void KeeperProcess::Exec(const KeeperCommand& command, const std::vector<UniqueFd>& descriptors) {
  SpawnResult result{.error_number = ESRCH, .message = "the task's program has ended"};
  if (state_ == State::kRunning && !kill_at_) {
    result = {.error_number = EMFILE, .message = "the keeper has no descriptors left"};
    if (descriptors.size() == 4) {
      result = SpawnProgram(containment_, ReadPayloadFile(descriptors[0].get()),
                            {.in = descriptors[1].get(),
                             .out = descriptors[2].get(),
                             .err = descriptors[3].get(),
                             .terminal = command.terminal});
    }
  }
  KeeperReport report;
  report.kind = KeeperReport::Kind::kExecStarted;
  report.exec = command.exec;
  report.pid = result.pid;
  if (result.error_number != 0) {
    report.kind = KeeperReport::Kind::kExecFailed;
    report.error_number = result.error_number;
    SetMessage(report, result.message);
  } else {
    execs_[result.pid].number = command.exec;
  }
  Report(report);
}

// The processes of a session that `leader` leads. One that has made itself a session of its own
// stays, until the container ends.
std::vector<pid_t> SessionOf(pid_t leader) {
  std::vector<pid_t> members = Descendants(::getpid());
  std::erase_if(members, [leader](pid_t pid) { return ::getsid(pid) != leader; });
  return members;
}

// A hang-up, as when a terminal goes away: shells pass it on to what they have started.
void HangUp(pid_t leader) {
  for (const pid_t pid : SessionOf(leader)) {
    ::kill(pid, SIGHUP);
    ::kill(pid, SIGCONT);  // a stopped process could not act on SIGHUP
  }
}

void KeeperProcess::EndExec(const KeeperCommand& command) {
  for (auto& [pid, exec] : execs_) {
    if (exec.number != command.exec || exec.kill_at) continue;
    exec.kill_at = clock_.Now() + command.grace;
    // A suspended process must not run on.
    if (!LeaseExpired()) HangUp(pid);
  }
}

void KeeperProcess::HangUpExecs() {
  for (const auto& [pid, exec] : execs_) {
    if (!LeaseExpired()) HangUp(pid);
  }
}

// Called by Advance(), whose next wake-up is set here too.
void KeeperProcess::KillExecs() {
  const TimePoint now = clock_.Now();
  for (const auto& [pid, exec] : execs_) {
    if (!exec.kill_at) continue;
    TimePoint next = *exec.kill_at;
    if (now >= next || LeaseExpired()) {
      for (const pid_t member : SessionOf(pid)) ::kill(member, SIGKILL);
      next = now + kLastRetry;
    }
    wake_at_ = std::min(wake_at_.value_or(TimePoint::max()), next);
  }
}

void KeeperProcess::SignalAll(int number) {
  const std::vector<pid_t> reached = containment_.Signal(number);
  // Leftovers are counted by process, however often each of them is signalled.
  if (state_ == State::kLeftovers) signalled_leftovers_.insert(reached.begin(), reached.end());
}

void KeeperProcess::Terminate(Duration grace) {
  const TimePoint deadline = clock_.Now() + grace;
  const bool first = !kill_at_;
  kill_at_ = first ? deadline : std::min(*kill_at_, deadline);
  // Advance() sends SIGKILL. A tree that was suspended when its lease ran out gets no grace: it
  // would have to run for that.
  if (!first || grace <= Duration::zero() || LeaseExpired()) return;
  SignalAll(SIGTERM);
  SignalAll(SIGCONT);  // a stopped process could not act on SIGTERM
}

void KeeperProcess::Reap() {
  int status = 0;
  rusage usage{};
  // Orphans of the tree may have become children of the keeper, so every child is reaped. Only the
  // ends of the program and of commands beside it are reported.
  while (true) {
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;
    OnExited(pid, status, usage);
  }
}

void KeeperProcess::OnExited(pid_t pid, int status, const rusage& usage) {
  KeeperReport report;
  report.status = ExitStatusFromWait(status);
  if (const auto exec = execs_.find(pid); exec != execs_.end()) {
    report.kind = KeeperReport::Kind::kExecExited;
    report.exec = exec->second.number;
    report.with_tree = kill_at_.has_value() || state_ == State::kLeftovers;
    execs_.erase(exec);
    return Report(report);
  }
  if (pid != program_) return;
  program_ = 0;
  state_ = State::kLeftovers;
  report.kind = KeeperReport::Kind::kExited;
  report.user_time = FromTimeval(usage.ru_utime);
  report.system_time = FromTimeval(usage.ru_stime);
  report.max_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
  report.memory = containment_.Memory();
  Report(report);
  // Interactive shells ignore SIGTERM, and would hold up the end of the tree until SIGKILL.
  HangUpExecs();
}

// Called after every wake-up, this function compares the state with the clock and sets the next
// wake-up. It ends the tree only by the containment's proof (Empty()), never by the list of
// processes that were signalled.
void KeeperProcess::Advance() {
  if (state_ == State::kIdle) return;
  if (state_ == State::kLeftovers) {
    if (containment_.Empty()) return FinishTree();
    if (!kill_at_) Terminate(leftover_grace_);
  }
  const bool expired = LeaseExpired();
  const TimePoint now = clock_.Now();
  const bool killing = kill_at_ && (expired || now >= *kill_at_);
  wake_at_ = killing ? std::nullopt : kill_at_;
  if (killing) {
    SignalAll(SIGKILL);
  } else {
    EnforceLease(expired);
  }
  if (killing || expired || state_ == State::kLeftovers) {
    // Tries again soon, with exponential backoff: a process may have forked meanwhile, and no
    // signal announces the end of a process outside the keeper's tree.
    wake_at_ = std::min(wake_at_.value_or(TimePoint::max()), now + retry_);
    retry_ = std::min(retry_ * 2, kLastRetry);
  }
  KillExecs();
}

void KeeperProcess::EnforceLease(bool expired) {
  if (expired) {
    // Finding the whole tree takes milliseconds. The likely descendants are most of it, and are
    // stopped first.
    const std::vector<pid_t> near =
        suspended_ ? std::vector<pid_t>() : LikelyDescendants(::getpid());
    for (const pid_t pid : near) {
      if (pid != containment_.helper()) ::kill(pid, SIGSTOP);
    }
    SignalAll(SIGSTOP);
  } else {
    if (suspended_) SignalAll(SIGCONT);
    if (lease_end_) wake_at_ = std::min(wake_at_.value_or(TimePoint::max()), *lease_end_);
    if (suspended_) retry_ = kFirstRetry;
  }
  suspended_ = expired;
}

void KeeperProcess::FinishTree() {
  KeeperReport report;
  report.kind = KeeperReport::Kind::kTreeGone;
  report.leftovers = static_cast<int>(signalled_leftovers_.size());
  Report(report);
  state_ = State::kIdle;
  kill_at_.reset();
  wake_at_.reset();
  retry_ = kFirstRetry;
  suspended_ = false;
  signalled_leftovers_.clear();
}

// Gives up everything that came from the owner: session, descriptors, working folder, name.
UniqueFd Isolate(int socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "tony-keeper", 0, 0, 0);
  const int moved = ::fcntl(socket, F_DUPFD_CLOEXEC, 4);
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int null_copy = ::fcntl(null_fd, F_DUPFD_CLOEXEC, 4);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(null_copy, fd);
  ::dup3(moved, kSocket, O_CLOEXEC);
  ::closefrom(kSocket + 1);
  (void)!::chdir("/");
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  return UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

void RunKeeper(int socket, pid_t owner, Containment& containment) {
  UniqueFd child_signals = Isolate(socket);
  if (!child_signals.valid()) ::_exit(1);
  // An ignored SIGCHLD, inherited from the process that started the owner, would make the kernel
  // discard exit statuses.
  ::signal(SIGCHLD, SIG_DFL);
  const absl::Status entered = containment.Enter(owner);
  KeeperReport report{.kind = KeeperReport::Kind::kEntered, .pid = containment.helper()};
  if (!entered.ok()) {
    report.error_number = EPERM;
    SetMessage(report, std::string(entered.message()));
  }
  SendMessage(kSocket, report);
  if (!entered.ok()) ::_exit(1);
  containment.Settle();
  KeeperProcess(std::move(child_signals), containment).Run();
}

}  // namespace tony::os
