// Client and ApplicationMaster share a socket pair: the ApplicationMaster writes one byte when its
// address is published, and the end of the socket tells each side that the other is gone.
#include "client/follow/master_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "core/tasks/task_exit.h"
#include "logs/last_lines.h"
#include "os/files/files.h"
#include "os/files/wait_readable.h"
#include "os/processes/installation.h"
#include "os/processes/own_program.h"

namespace tony::client {
namespace {

/// Number of the socket in the child, where inherited descriptors become 3, 4, ….
constexpr int kClientFd = 3;
/// Longest wait for a process that was killed or has closed its socket. It blocks the event loop: a
/// client that restarts the ApplicationMaster does not hear Ctrl-C meanwhile.
constexpr std::chrono::milliseconds kEndPatience{500};
/// The most that is shown of the last line of a lost ApplicationMaster's log.
constexpr size_t kMostLogBytes = 300;

}  // namespace

absl::StatusOr<MasterStart> MasterStart::Begin(const storage::JobFolder& folder,
                                               const MasterProcess::Options& options) {
  const std::string log_path = folder.am_log();
  os::UniqueFd log = os::OpenOrMakeFile(log_path, O_WRONLY | O_APPEND);
  if (!log.valid()) return os::ErrnoError(errno, log_path);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::ErrnoError(errno, "cannot make a pair of sockets");
  }
  os::UniqueFd own_end(ends[0]);
  const os::UniqueFd master_end(ends[1]);

  os::SubprocessRequest request;
  TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-am"));
  request.arguments = {program, absl::StrCat("--job-folder=", folder.root()),
                       absl::StrCat("--client-fd=", kClientFd)};
  if (options.open_files > 0) {
    request.arguments.push_back(absl::StrCat("--open-files=", options.open_files));
  }
  if (options.detached) {
    request.arguments.push_back("--detached");
    if (options.leased) request.arguments.push_back("--leased");
    request.arguments.push_back(absl::StrCat("--restarts=", options.restarts));
  }
  if (!options.predecessor.empty()) {
    request.arguments.push_back(absl::StrCat("--predecessor=", options.predecessor));
  }
  request.working_folder = folder.root();
  request.stdout_fd = log.get();
  request.stderr_fd = log.get();
  request.inherited_fds = {master_end.get()};
  if (options.detached && options.guard_fd >= 0) request.inherited_fds.push_back(options.guard_fd);
  for (const int lock : options.lock_fds) {
    request.arguments.push_back(
        absl::StrCat("--lock-fd=", kClientFd + request.inherited_fds.size()));
    request.inherited_fds.push_back(lock);
  }
  for (const int page : options.page_fds) {
    request.arguments.push_back(
        absl::StrCat("--page-fd=", kClientFd + request.inherited_fds.size()));
    request.inherited_fds.push_back(page);
  }
  if (options.launcher_fd >= 0) {
    request.arguments.push_back(
        absl::StrCat("--launcher-fd=", kClientFd + request.inherited_fds.size()));
    request.arguments.push_back(absl::StrCat("--launcher-host=", options.launcher_host));
    request.inherited_fds.push_back(options.launcher_fd);
  }
  TONY_ASSIGN_OR_RETURN(os::Subprocess process, os::StartOwnProgram(request));
  return MasterStart(MasterProcess(std::move(process), std::move(own_end)), log_path);
}

absl::StatusOr<MasterProcess> MasterStart::Finish() && {
  char byte;
  // One byte means ready; end of file means that the process is gone or going.
  if (read(fd(), &byte, 1) == 1) return std::move(process_);
  Reap();
  return absl::UnavailableError(absl::StrCat("the ApplicationMaster ended at once; ", EndOfLog()));
}

absl::Status MasterStart::GiveUp() && {
  process_.Kill();
  Reap();
  return absl::DeadlineExceededError(absl::StrCat(
      "the ApplicationMaster was not ready in time (tony.client.am-start-timeout-ms); ",
      EndOfLog()));
}

void MasterStart::Reap() {
  if (os::WaitReadable(process_.pidfd(), kEndPatience)) (void)process_.End();
}

std::string MasterStart::EndOfLog() const {
  return absl::StrCat("its log ", log_path_, " ends with\n", logs::LastLines(log_path_, 10));
}

absl::StatusOr<MasterProcess> MasterProcess::Start(const storage::JobFolder& folder,
                                                   const Options& options) {
  TONY_ASSIGN_OR_RETURN(MasterStart start, MasterStart::Begin(folder, options));
  if (!os::WaitReadable(start.fd(), options.deadline)) return std::move(start).GiveUp();
  return std::move(start).Finish();
}

std::string DescribeLoss(const storage::JobFolder& folder, const os::ExitStatus& end) {
  const std::string last = SafeText(logs::LastLines(folder.am_log(), 1).substr(0, kMostLogBytes));
  core::TaskExit exit;
  exit.cause = end.signal != 0 ? core::TaskExit::Cause::kSignaled : core::TaskExit::Cause::kExited;
  exit.code = end.code;
  exit.signal = end.signal;
  const std::string how = exit.Describe();
  const os::UniqueFd log = os::OpenOrMakeFile(folder.am_log(), O_WRONLY | O_APPEND);
  const std::string line = absl::StrCat("tony-submit: the ApplicationMaster ", how, "\n");
  // The log is for people; what cannot be written there is said in the terminal all the same.
  if (log.valid()) (void)os::WriteAll(log.get(), line.data(), line.size(), folder.am_log());
  return absl::StrCat(how, "; its log ends with: ", last);
}

void MasterProcess::Kill() const { process_.SignalSession(SIGKILL); }

}  // namespace tony::client
