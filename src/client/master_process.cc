// Starting tony-am and waiting for its word.
#include "client/master_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/own_program.h"
#include "os/wait_readable.h"

namespace tony::client {
namespace {

/// In the child, where inherited descriptors become 3, 4, ….
constexpr int kClientFd = 3;
/// How long a process may take to end after it was killed or has closed its pipe.
constexpr std::chrono::seconds kEndPatience{2};

std::string LastLines(const std::string& path, size_t count) {
  absl::StatusOr<std::string> text = os::ReadFile(path);
  if (!text.ok()) return std::string(text.status().message());
  std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return absl::StrJoin(lines, "\n");
}

/// Waits for a process that is about to end, so that its log is complete.
void Reap(os::Subprocess& process) {
  if (os::WaitReadable(process.pidfd(), kEndPatience)) (void)process.TryWait();
}

}  // namespace

absl::StatusOr<MasterProcess> MasterProcess::Start(const backend::JobFolder& folder,
                                                   const Options& options) {
  const std::string log_path = folder.am_log();
  os::UniqueFd log = os::OpenOrMakeFile(log_path, O_WRONLY | O_APPEND);
  if (!log.valid()) return os::ErrnoError(errno, log_path);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::ErrnoError(errno, "cannot make a pair of sockets");
  }
  os::UniqueFd own_end(ends[0]);
  os::UniqueFd master_end(ends[1]);

  os::SubprocessRequest request;
  TONY_ASSIGN_OR_RETURN(const std::string program, os::ProgramBeside("tony-am"));
  request.arguments = {program, absl::StrCat("--job-folder=", folder.root()),
                       absl::StrCat("--client-fd=", kClientFd)};
  if (options.open_files > 0) {
    request.arguments.push_back(absl::StrCat("--open-files=", options.open_files));
  }
  if (options.detached) {
    request.arguments.push_back("--detached");
    request.arguments.push_back(absl::StrCat("--restarts=", options.restarts));
  }
  request.working_folder = folder.root();
  request.stdout_fd = log.get();
  request.stderr_fd = log.get();
  request.inherited_fds = {master_end.get()};
  if (options.detached && options.guard_fd >= 0) request.inherited_fds.push_back(options.guard_fd);
  TONY_ASSIGN_OR_RETURN(os::Subprocess process, os::StartOwnProgram(request));
  master_end.Reset();

  if (!os::WaitReadable(own_end.get(), options.deadline)) {
    process.SignalSession(SIGKILL);
    Reap(process);
    return absl::DeadlineExceededError(absl::StrCat(
        "the ApplicationMaster was not ready in time (tony.client.am-start-timeout-ms); its log ",
        log_path, " ends with\n", LastLines(log_path, 10)));
  }
  char byte;
  if (read(own_end.get(), &byte, 1) != 1) {
    Reap(process);
    return absl::UnavailableError(absl::StrCat("the ApplicationMaster ended at once; its log ",
                                               log_path, " ends with\n", LastLines(log_path, 10)));
  }
  return MasterProcess(std::move(process), std::move(own_end));
}

void MasterProcess::Kill() const { process_.SignalSession(SIGKILL); }

}  // namespace tony::client
