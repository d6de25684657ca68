// Uses posix_spawn(): its child shares this process's memory until its exec, so that even a large
// parent starts it quickly.
#include "os/processes/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::os {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status StartError(const std::string& what, int error_number) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error_number));
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case ENOEXEC:
      return absl::PermissionDeniedError(message);
    case ENOSYS:
      return absl::UnimplementedError(message);
    case EINVAL:
    case EBADF:
    case E2BIG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::ResourceExhaustedError(message);
  }
}

/// The two C structures of posix_spawn(). Not thread safe.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // Returns 0, or the errno value.
  int Prepare(const SubprocessRequest& request) {
    const int first_free = 3 + static_cast<int>(request.inherited_fds.size());
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    int error = MoveDescriptor(request.stdout_fd, 1, first_free);
    if (error == 0) error = MoveDescriptor(request.stderr_fd, 2, first_free);
    int target = 3;
    for (const int fd : request.inherited_fds) {
      if (error == 0) error = MoveDescriptor(fd, target++, first_free);
    }
    if (error != 0) return error;
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_free);
    if (!request.working_folder.empty()) {
      ::posix_spawn_file_actions_addchdir_np(&actions_, request.working_folder.c_str());
    }
    SetSignals(request.new_session);
    return 0;
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  // The source is first copied to a number above all targets, so that no source is overwritten
  // before its turn.
  int MoveDescriptor(int source, int target, int first_free) {
    if (source < 0) {
      return ::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_WRONLY, 0);
    }
    copies_.emplace_back(::fcntl(source, F_DUPFD_CLOEXEC, first_free));
    if (!copies_.back().valid()) return errno;
    return ::posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), target);
  }

  void SetSignals(bool new_session) {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (new_session) flags |= POSIX_SPAWN_SETSID;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  std::vector<UniqueFd> copies_;  // open until the child is started
};

}  // namespace

absl::StatusOr<Subprocess> Subprocess::Start(const SubprocessRequest& request) {
  if (request.arguments.empty() || request.arguments[0].empty()) {
    return absl::InvalidArgumentError("there is no program to start: the command is empty");
  }
  const std::string what = absl::StrCat("cannot start '", request.arguments[0], "'");
  // posix_spawn() does not tell which of its steps failed, so the folder is checked first.
  struct stat folder;
  if (!request.working_folder.empty() && ::stat(request.working_folder.c_str(), &folder) != 0) {
    return StartError(absl::StrCat(what, " in the folder '", request.working_folder, "'"), errno);
  }
  SpawnPlan plan;
  int error = plan.Prepare(request);
  if (error != 0) return StartError(what, error);
  const std::vector<char*> arguments = Pointers(request.arguments);
  std::vector<char*> environment;
  if (request.environment) environment = Pointers(*request.environment);
  pid_t pid = 0;
  error = ::posix_spawnp(&pid, arguments[0], plan.actions(), plan.attributes(), arguments.data(),
                         request.environment ? environment.data() : ::environ);
  if (error != 0) return StartError(what, error);
  return Adopt(pid, what);
}

absl::StatusOr<Subprocess> Subprocess::Adopt(pid_t child, const std::string& what) {
  // Nobody else reaps the child, so the number still belongs to it.
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (pidfd.valid()) return Subprocess(child, std::move(pidfd));
  const int error = errno;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return StartError(absl::StrCat(what, ": no descriptor to watch it by"), error);
}

std::optional<ExitStatus> Subprocess::TryWait() {
  if (status_) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = ExitStatusFromWait(status);
  return status_;
}

void Subprocess::Signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

void Subprocess::SignalSession(int number) const {
  if (!status_) ::kill(-pid_, number);
}

}  // namespace tony::os
