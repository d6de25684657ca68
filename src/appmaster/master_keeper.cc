// A loop of fork and wait.
#include "appmaster/master_keeper.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "os/exit_status.h"
#include "os/reap_orphans.h"

namespace tony::appmaster {
namespace {

/// An ApplicationMaster that lived shorter is not started again at once.
constexpr time_t kShortLifeSeconds = 1;

sigset_t Watched() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
  return signals;
}

void Say(const std::string& text) {
  // No logging yet: the ApplicationMaster is to set it up.
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Waits for the child's end, passing on what the keeper is told. True when it ended by itself, or
/// was told to.
bool KeptToItsEnd(pid_t child, int* exit_code) {
  const sigset_t signals = Watched();
  bool told = false;
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended > 0 && ended != child) continue;  // an executor that an ApplicationMaster left behind
    if (ended == child) {
      const os::ExitStatus end = os::ExitStatusFromWait(status);
      *exit_code = end.signal != 0 ? 3 : end.code;
      return told || (end.signal == 0 && end.code == 0);
    }
    const int number = ::sigwaitinfo(&signals, nullptr);
    if (number <= 0 || number == SIGCHLD) continue;
    told = true;
    ::kill(child, number);
  }
}

}  // namespace

int SplitOffKeeper(int restarts) {
  const sigset_t signals = Watched();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  os::BecomeSubreaper();
  for (int number = 1;; ++number) {
    const time_t began = ::time(nullptr);
    const pid_t child = ::fork();
    if (child <= 0) {
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      return number;
    }
    int exit_code = 0;
    if (KeptToItsEnd(child, &exit_code) || number > restarts) ::_exit(exit_code);
    Say("the ApplicationMaster was lost; starting number " + std::to_string(number + 1) + "\n");
    if (::time(nullptr) - began < kShortLifeSeconds) {
      const timespec pause{0, 200'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace tony::appmaster
