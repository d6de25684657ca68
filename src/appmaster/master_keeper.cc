// A loop of fork and waitpid. Signals are blocked and taken with sigwaitinfo, so the keeper needs
// no handlers.
#include "appmaster/master_keeper.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "core/job/master_restarts.h"
#include "core/tasks/task_exit.h"
#include "os/processes/exit_status.h"
#include "os/processes/reap_orphans.h"

namespace tony::appmaster {
namespace {

sigset_t Watched() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
  return signals;
}

void PrintSentence(const std::string& text) {
  // Logging is not available yet: the ApplicationMaster sets it up after the fork.
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Waits for the child's end and passes the keeper's signals on to it. True: the child exited by
/// itself with code 0, or the keeper was told to end.
bool KeptToItsEnd(pid_t child, os::ExitStatus* end) {
  const sigset_t signals = Watched();
  bool told = false;
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    // An executor that an earlier ApplicationMaster left behind.
    if (ended > 0 && ended != child) continue;
    if (ended == child) {
      *end = os::ExitStatusFromWait(status);
      return told || end->ok();
    }
    const int number = ::sigwaitinfo(&signals, nullptr);
    if (number <= 0 || number == SIGCHLD) continue;
    told = true;
    ::kill(child, number);
  }
}

/// Waits before the next start. False: the keeper was told to end during the wait, when there is no
/// ApplicationMaster to which it could pass the signal on.
bool Pause(Duration pause) {
  const sigset_t signals = Watched();
  const SystemClock clock;
  const TimePoint end = clock.Now() + pause;
  for (Duration left = pause; left > Duration::zero(); left = end - clock.Now()) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec limit{seconds.count(), (left - seconds).count()};
    const int number = ::sigtimedwait(&signals, nullptr, &limit);
    if (number == SIGCHLD) os::ReapOrphans();
    if (number > 0 && number != SIGCHLD) return false;
  }
  return true;
}

std::string Describe(const os::ExitStatus& end) {
  core::TaskExit exit;
  exit.cause = end.signal != 0 ? core::TaskExit::Cause::kSignaled : core::TaskExit::Cause::kExited;
  exit.code = end.code;
  exit.signal = end.signal;
  return exit.Describe();
}

std::string NextStart(const std::string& how, int number, Duration pause) {
  std::string text = absl::StrCat("the ApplicationMaster ", how, "; starting number ", number);
  if (pause > Duration::zero()) {
    absl::StrAppend(&text, " in ", pause / std::chrono::milliseconds(1),
                    " ms, since several were lost soon after their start");
  }
  return text + "\n";
}

}  // namespace

std::string SplitOffKeeper(int restarts) {
  const sigset_t signals = Watched();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  os::BecomeSubreaper();
  core::MasterRestarts left(restarts);
  const SystemClock clock;
  std::string predecessor;
  for (int number = 1;; ++number) {
    const TimePoint began = clock.Now();
    const pid_t child = ::fork();
    if (child <= 0) {
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      return predecessor;
    }
    os::ExitStatus end;
    const bool kept = KeptToItsEnd(child, &end);
    const int exit_code = end.signal != 0 ? 3 : end.code;
    if (kept) ::_exit(exit_code);
    predecessor = Describe(end);
    const std::optional<Duration> pause = left.Next(clock.Now() - began);
    if (!pause) ::_exit(exit_code);
    PrintSentence(NextStart(predecessor, number + 1, *pause));
    if (!Pause(*pause)) ::_exit(exit_code);
  }
}

}  // namespace tony::appmaster
