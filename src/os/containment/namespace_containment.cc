// Creates the namespace with unshare(), maps the user into it, and talks to the namespace's first
// process over a socket pair.
#include "os/containment/namespace_containment.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/containment/namespace_init.h"
#include "os/files/proc_file.h"
#include "os/processes/message_socket.h"
#include "os/processes/process_tree.h"

namespace tony::os {
namespace {

// An answer takes microseconds, unless a process outside has stopped the first process.
constexpr timeval kAnswerLimit{.tv_sec = 0, .tv_usec = 200'000};

absl::Status Failed(const std::string& what, int error_number) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error_number)));
}

// The new namespace applies to the children of this process, not to the process itself.
absl::Status NewProcessNamespace() {
  // A privileged user gets no user namespace: inside one it could not open other users' files.
  if (::unshare(CLONE_NEWPID) == 0) return absl::OkStatus();
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
    return Failed("an ordinary user may not make a user namespace here", errno);
  }
  int error = WriteProcFile("/proc/self/setgroups", "deny");  // required before gid_map
  if (error == 0) error = WriteProcFile("/proc/self/uid_map", absl::StrCat(user, " ", user, " 1"));
  if (error == 0) {
    error = WriteProcFile("/proc/self/gid_map", absl::StrCat(group, " ", group, " 1"));
  }
  return error == 0 ? absl::OkStatus() : Failed("cannot map the user into a namespace", error);
}

}  // namespace

absl::Status NamespaceContainment::Enter(pid_t) {
  TONY_RETURN_IF_ERROR(NewProcessNamespace());
  TONY_RETURN_IF_ERROR(StartInit());
  const std::string path = absl::StrCat("/proc/", init_, "/ns/mnt");
  mounts_.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return mounts_.valid() ? absl::OkStatus() : Failed(path, errno);
}

absl::Status NamespaceContainment::StartInit() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Failed("cannot make a socket pair", errno);
  }
  init_socket_.Reset(ends[0]);
  UniqueFd init_end(ends[1]);
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &kAnswerLimit, sizeof(kAnswerLimit));
  init_ = ::fork();
  if (init_ < 0) return Failed("cannot start a process in a new namespace", errno);
  if (init_ == 0) RunNamespaceInit(init_end.get());
  init_end.Reset();  // an open copy would hide the end of the first process
  InitAnswer answer;
  std::vector<UniqueFd> none;
  // The first answer has no time limit: a loaded machine must not change the way of containment.
  const timeval no_limit{};
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &no_limit, sizeof(no_limit));
  const ssize_t received = ReceiveMessage(init_socket_.get(), answer, none, /*wait=*/true);
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &kAnswerLimit, sizeof(kAnswerLimit));
  if (received > 0 && answer.error_number == 0) return absl::OkStatus();
  Leave(/*owner_lives=*/true);  // reaps it: the owner must not get a zombie
  if (received <= 0) return Failed("the first process of a namespace ended", ECHILD);
  return Failed("cannot mount a /proc of its own in a namespace", answer.error_number);
}

int NamespaceContainment::Join() { return ::setns(mounts_.get(), CLONE_NEWNS) == 0 ? 0 : errno; }

// Returns true if it is certain that the first process has no child.
bool NamespaceContainment::AskInit(int signal) {
  const InitQuestion question{.number = ++questions_, .signal = signal};
  if (!SendMessage(init_socket_.get(), question)) return false;
  InitAnswer answer;
  std::vector<UniqueFd> none;
  while (ReceiveMessage(init_socket_.get(), answer, none, /*wait=*/true) > 0) {
    // Other answers came too late for their question.
    if (answer.number == question.number) return answer.childless;
  }
  return false;
}

// SIGSTOP and SIGKILL go to every descendant directly, and then through the first process, whose
// one kill() reaches every process of the namespace without a race against fork().
std::vector<pid_t> NamespaceContainment::Signal(int number) {
  std::vector<pid_t> members = Descendants(::getpid());
  std::erase(members, init_);
  if (number == SIGSTOP || number == SIGKILL) {
    // A process outside may have stopped the first process; that must not delay these signals.
    for (const pid_t pid : members) ::kill(pid, number);
  }
  AskInit(number);
  return members;
}

bool NamespaceContainment::Empty() {
  if (AskInit(0)) return true;
  // A process outside may have ended the first process, and with it all others.
  siginfo_t ignored;
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

void NamespaceContainment::Leave(bool) {
  init_socket_.Reset();
  if (::waitpid(init_, nullptr, WNOHANG) != 0) return;
  ::kill(init_, SIGKILL);  // in case it is stopped
  ::waitpid(init_, nullptr, 0);
}

}  // namespace tony::os
