// vfork, child set-up and exec, with the reason of a failure sent back through a pipe that exec
// closes. The child runs in this process's memory while this process waits, so no page is copied.
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

// Leaves 0, 1, 2 and the pipe, which moves to 3.
bool SetUpDescriptors(int& pipe_end, int stdout_fd, int stderr_fd) {
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The sources are all above 3 before anything is put in its place.
  const int out = ::fcntl(stdout_fd, F_DUPFD_CLOEXEC, 4);
  const int err = ::fcntl(stderr_fd, F_DUPFD_CLOEXEC, 4);
  const int pipe_copy = ::fcntl(pipe_end, F_DUPFD_CLOEXEC, 4);
  if (null_fd < 0 || out < 0 || err < 0 || pipe_copy < 0) return false;
  if (::dup2(null_fd, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) return false;
  if (::dup3(pipe_copy, 3, O_CLOEXEC) < 0) return false;
  pipe_end = 3;
  ::closefrom(4);
  return true;
}

/// Made before the child, which must not allocate: it would do so in its parent's heap.
struct Program {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const char* working_folder = nullptr;
  const char* file = nullptr;  // null: arguments[0] in PATH
  std::vector<char*> fallback;
  int stdout_fd = -1;
  int stderr_fd = -1;
  pid_t keeper = 0;
};

// Returns only when the exec has failed. Changes nothing of its parent's but `environ`.
Failure BecomeProgram(const Program& program, int& pipe_end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != program.keeper) ::_exit(127);  // it died before the line above
  ::setsid();
  if (!SetUpDescriptors(pipe_end, program.stdout_fd, program.stderr_fd))
    return {Step::kSetUp, errno};
  if (::chdir(program.working_folder) != 0) return {Step::kWorkingFolder, errno};
  ResetSignals();
  ::environ = const_cast<char**>(program.environment.data());  // execvp() takes PATH from it
  if (program.file != nullptr) {
    ::execv(program.file, program.arguments.data());
    if (program.fallback[0] != nullptr) ::execv(program.fallback[0], program.fallback.data());
  } else {
    ::execvp(program.arguments[0], program.arguments.data());
  }
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
  const std::string& program = payload.program.empty() ? payload.arguments[0] : payload.program;
  if (failure.error_number == ENOENT && program.find('/') == std::string::npos) {
    return "command '" + program + "' is not found in any folder of PATH";
  }
  return "cannot run '" + program + "': " + reason;
}

}  // namespace

SpawnResult SpawnProgram(const SpawnPayload& payload, int stdout_fd, int stderr_fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {.error_number = errno, .message = Describe(payload, {Step::kSetUp, errno})};
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const Program program{.arguments = Pointers(payload.arguments),
                        .environment = Pointers(payload.environment),
                        .working_folder = payload.working_folder.c_str(),
                        .file = payload.program.empty() ? nullptr : payload.program.c_str(),
                        .fallback = Pointers(payload.fallback),
                        .stdout_fd = stdout_fd,
                        .stderr_fd = stderr_fd,
                        .keeper = ::getpid()};
  char** const own_environment = ::environ;
  const pid_t pid = ::vfork();
  if (pid == 0) {
    int pipe_end = ends[1];
    const Failure failure = BecomeProgram(program, pipe_end);
    (void)!::write(pipe_end, &failure, sizeof(failure));
    ::_exit(127);
  }
  const int vfork_error = errno;
  ::environ = own_environment;
  if (pid < 0) {
    return {.error_number = vfork_error, .message = Describe(payload, {Step::kSetUp, vfork_error})};
  }
  write_end.Reset();
  Failure failure;
  ssize_t count;
  do {
    count = ::read(read_end.get(), &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof(failure))) return {.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return {.error_number = failure.error_number, .message = Describe(payload, failure)};
}

}  // namespace tony::os
