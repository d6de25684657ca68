// vfork, child set-up and exec. The child runs in this process's memory, while this process waits:
// no page is copied, and the reason of a failure is simply left there.
#include "os/keeper_spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tony::os {
namespace {

enum class Step : int { kSetUp, kWorkingFolder, kExec };

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

// Leaves 0, 1 and 2.
bool SetUpDescriptors(int stdout_fd, int stderr_fd) {
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The sources are all above 2 before anything is put in its place.
  const int out = ::fcntl(stdout_fd, F_DUPFD_CLOEXEC, 3);
  const int err = ::fcntl(stderr_fd, F_DUPFD_CLOEXEC, 3);
  if (null_fd < 0 || out < 0 || err < 0) return false;
  if (::dup2(null_fd, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) return false;
  ::closefrom(3);
  return true;
}

/// Made before the child, which must not allocate: it would do so in its parent's heap.
struct Program {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const char* working_folder = nullptr;
  int stdout_fd = -1;
  int stderr_fd = -1;
  pid_t keeper = 0;
};

// Returns only when the exec has failed. Changes nothing of its parent's but `environ`.
Failure BecomeProgram(const Program& program) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != program.keeper) ::_exit(127);  // it died before the line above
  ::setsid();
  if (!SetUpDescriptors(program.stdout_fd, program.stderr_fd)) return {Step::kSetUp, errno};
  if (::chdir(program.working_folder) != 0) return {Step::kWorkingFolder, errno};
  ResetSignals();
  ::environ = const_cast<char**>(program.environment.data());  // execvp() takes PATH from it
  ::execvp(program.arguments[0], program.arguments.data());
  return {Step::kExec, errno};
}

std::string Describe(const SpawnPayload& payload, const Failure& failure) {
  const std::string reason = std::strerror(failure.error_number);
  switch (failure.step) {
    case Step::kSetUp:
      return "cannot set up the program's process: " + reason;
    case Step::kWorkingFolder:
      return "cannot enter the working folder '" + payload.working_folder + "': " + reason;
    case Step::kExec:
      break;
  }
  const std::string& program = payload.arguments[0];
  if (failure.error_number == ENOENT && program.find('/') == std::string::npos) {
    return "command '" + program + "' is not found in any folder of PATH";
  }
  return "cannot run '" + program + "': " + reason;
}

}  // namespace

SpawnResult SpawnProgram(const SpawnPayload& payload, int stdout_fd, int stderr_fd) {
  const Program program{.arguments = Pointers(payload.arguments),
                        .environment = Pointers(payload.environment),
                        .working_folder = payload.working_folder.c_str(),
                        .stdout_fd = stdout_fd,
                        .stderr_fd = stderr_fd,
                        .keeper = ::getpid()};
  char** const own_environment = ::environ;
  volatile Step step = Step::kSetUp;
  volatile int error_number = 0;
  const pid_t pid = ::vfork();
  if (pid == 0) {
    const Failure failure = BecomeProgram(program);
    step = failure.step;
    error_number = failure.error_number;
    ::_exit(127);
  }
  const int vfork_error = errno;
  ::environ = own_environment;
  if (pid < 0) {
    return {.error_number = vfork_error, .message = Describe(payload, {Step::kSetUp, vfork_error})};
  }
  if (error_number == 0) return {.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return {.error_number = error_number, .message = Describe(payload, {step, error_number})};
}

}  // namespace tony::os
