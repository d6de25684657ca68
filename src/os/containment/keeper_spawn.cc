// Fork, child set-up and exec. A pipe that closes on exec reports success by its end, or carries
// the step that failed and its errno value.
#include "os/containment/keeper_spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tony::os {
namespace {

enum class Step : int { kContainment, kSetUp, kWorkingFolder, kExec };

struct Failure {
  Step step = Step::kSetUp;
  int error_number = 0;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void ResetSignals() {
  for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Leaves the descriptors 0, 1, 2 and the pipe, which moves to 3.
bool SetUpDescriptors(int& pipe_end, const SpawnStreams& streams) {
  // All sources are copied to numbers above 3 first, so that no dup2() overwrites another source.
  const int in = streams.in >= 0 ? ::fcntl(streams.in, F_DUPFD_CLOEXEC, 4)
                                 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::fcntl(streams.out, F_DUPFD_CLOEXEC, 4);
  const int err = ::fcntl(streams.err, F_DUPFD_CLOEXEC, 4);
  const int pipe_copy = ::fcntl(pipe_end, F_DUPFD_CLOEXEC, 4);
  if (in < 0 || out < 0 || err < 0 || pipe_copy < 0) return false;
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) return false;
  if (streams.terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) return false;
  if (::dup3(pipe_copy, 3, O_CLOEXEC) < 0) return false;
  pipe_end = 3;
  ::closefrom(4);
  return true;
}

// True if nobody reads the pipe any more, so the keeper is gone. Comparing getppid() would not tell
// in a process namespace, where the parent's id is always 0.
bool KeeperGone(int pipe_end) {
  pollfd watched{.fd = pipe_end};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & POLLERR) != 0;
}

// Returns only if the exec has failed.
Failure BecomeProgram(Containment& containment, const SpawnPayload& payload, int& pipe_end,
                      const SpawnStreams& streams) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (KeeperGone(pipe_end)) ::_exit(127);  // the keeper died before prctl() took effect
  if (const int error = containment.Join(); error != 0) return {Step::kContainment, error};
  ::setsid();
  // A step that fails from here on returns its errno value, and the caller writes it to the pipe.
  const std::vector<char*> arguments = Pointers(payload.arguments);
  std::vector<char*> environment = Pointers(payload.environment);
  if (!SetUpDescriptors(pipe_end, streams)) return {Step::kSetUp, errno};
  if (::chdir(payload.working_folder.c_str()) != 0) return {Step::kWorkingFolder, errno};
  ResetSignals();
  ::environ = environment.data();  // execvp() reads PATH from it
  if (payload.program.empty()) {
    ::execvp(arguments[0], arguments.data());
  } else {
    ::execv(payload.program.c_str(), arguments.data());
    if (!payload.fallback.empty()) {
      const std::vector<char*> fallback = Pointers(payload.fallback);
      ::execv(fallback[0], fallback.data());
    }
  }
  return {Step::kExec, errno};
}

std::string Describe(const Containment& containment, const SpawnPayload& payload,
                     const Failure& failure) {
  const std::string reason = std::strerror(failure.error_number);
  switch (failure.step) {
    case Step::kContainment:
      return "cannot enter the containment '" + containment.name() + "': " + reason;
    case Step::kSetUp:
      return "cannot set up the program's process: " + reason;
    case Step::kWorkingFolder:
      return "cannot enter the working folder '" + payload.working_folder + "': " + reason;
    case Step::kExec:
      break;
  }
  const std::string& program = payload.program.empty() ? payload.arguments[0] : payload.program;
  // execvp() looks a plain name up in PATH, so ENOENT means that no folder of PATH has it.
  if (failure.error_number == ENOENT && program.find('/') == std::string::npos) {
    return "command '" + program + "' is not found in any folder of PATH";
  }
  return "cannot run '" + program + "': " + reason;
}

}  // namespace

SpawnResult SpawnProgram(Containment& containment, const SpawnPayload& payload,
                         const SpawnStreams& streams) {
  const auto failed = [&](const Failure& failure) {
    return SpawnResult{.error_number = failure.error_number,
                       .message = Describe(containment, payload, failure)};
  };
  // Both ends of the pipe close on exec: the read below returns 0 after a successful exec, and a
  // whole Failure otherwise.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed({Step::kSetUp, errno});
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t pid = containment.Fork();
  if (pid < 0) return failed({Step::kSetUp, errno});
  if (pid == 0) {
    read_end.Reset();
    int pipe_end = write_end.get();
    const Failure failure = BecomeProgram(containment, payload, pipe_end, streams);
    (void)!::write(pipe_end, &failure, sizeof(failure));
    ::_exit(127);
  }
  write_end.Reset();
  Failure failure;
  ssize_t count;
  do {
    count = ::read(read_end.get(), &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof(failure))) return {.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return failed(failure);
}

}  // namespace tony::os
