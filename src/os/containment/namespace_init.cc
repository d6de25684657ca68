// A request loop over one socket; the kernel reaps orphans and signals the whole namespace.
#include "os/containment/namespace_init.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "os/files/unique_fd.h"
#include "os/processes/message_socket.h"

namespace tony::os {
namespace {

constexpr int kSocket = 3;

// Mounts made outside later become visible inside, but mounts made here stay invisible outside
// (MS_SLAVE).
int MountProc() {
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return errno;
  }
  return 0;
}

// The namespace is empty exactly when its first process has no child, except for processes whose
// parent is outside.
bool Childless() {
  siginfo_t ignored;
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

}  // namespace

void RunNamespaceInit(int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::prctl(PR_SET_NAME, "tony-init", 0, 0, 0);
  ::dup2(socket, kSocket);
  ::closefrom(kSocket + 1);
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps the children
  InitAnswer answer{.error_number = MountProc(), .childless = true};
  InitQuestion question;
  std::vector<UniqueFd> none;
  // The socket ends when the keeper does, even if the keeper died before prctl() took effect.
  while (SendMessage(kSocket, answer) &&
         ReceiveMessage(kSocket, question, none, /*wait=*/true) > 0) {
    if (question.signal != 0) ::kill(-1, question.signal);
    answer.number = question.number;
    answer.childless = Childless();
  }
  ::_exit(0);
}

}  // namespace tony::os
