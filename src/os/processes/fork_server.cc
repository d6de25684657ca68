// The owner sends requests over a socket; the server forks with clone(CLONE_PARENT), so that the
// new process is a child of the owner.
#include "os/processes/fork_server.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/wait_readable.h"
#include "os/processes/message_socket.h"
#include "os/processes/own_program.h"
#include "os/processes/process_title.h"
#include "os/processes/spawn_payload.h"

namespace tony::os {
namespace {

constexpr char kForkServerFlag[] = "--fork-server";
constexpr int kServerSocket = 3;  // descriptor number that Subprocess::Start() gives it
constexpr std::chrono::seconds kAnswerLimit(10);
constexpr std::chrono::seconds kEndLimit(1);

/// The message's descriptors: payload, standard output, standard error, and the descriptors to be
/// inherited.
struct ForkRequest {
  bool new_session = true;
};

struct ForkAnswer {
  pid_t pid = 0;         // 0: nothing was started
  int error_number = 0;  // if pid is 0: the errno value
  bool forked = true;    // if pid is 0: false if the fork itself failed
};

// Like fork(), but the new process is a child of this process's parent, which gets its exit status.
// The C library has no call for that, and its record of the thread's own number would keep the
// server's number. So the kernel is told where to store the new number.
pid_t ForkSibling() {
  int* thread_number = nullptr;
  const bool found = ::prctl(PR_GET_TID_ADDRESS, &thread_number, 0, 0, 0) == 0;
  const long number =
      found && thread_number != nullptr ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0;
  return static_cast<pid_t>(
      // The order of the last two arguments depends on the processor architecture, so both have the
      // same value; an argument that the flags do not ask for is ignored.
      ::syscall(SYS_clone, CLONE_PARENT | number | SIGCHLD, nullptr, nullptr, thread_number,
                thread_number));
}

// Moves the descriptors to their places from 1 on, closes all others, and gives up ownership.
bool PlaceDescriptors(std::vector<UniqueFd> descriptors) {
  const int first_free = 1 + static_cast<int>(descriptors.size());
  std::vector<int> copies;
  for (UniqueFd& fd : descriptors) {
    copies.push_back(::fcntl(fd.Release(), F_DUPFD_CLOEXEC, first_free));
    if (copies.back() < 0) return false;
  }
  int target = 1;
  for (const int copy : copies) {
    if (::dup2(copy, target++) < 0) return false;
  }
  ::closefrom(first_free);
  return true;
}

void ReplaceEnvironment(const std::vector<std::string>& environment) {
  ::clearenv();
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
}

// The set-up of a forked process before it returns to main().
void BecomeProcess(const ForkRequest& request, std::vector<UniqueFd> descriptors, UniqueFd folder,
                   const SpawnPayload& payload) {
  // The new process answers, not the server: without an answer there is no process.
  SendMessage(kServerSocket, ForkAnswer{.pid = ::getpid()});
  if (request.new_session) ::setsid();
  // A process without any of these would not be the requested one.
  if (::fchdir(folder.Release()) != 0 || !PlaceDescriptors(std::move(descriptors))) {
    std::perror("a forked process cannot be set up");
    ::_exit(127);
  }
  ReplaceEnvironment(payload.environment);
}

// One round of the server. Returns true in the forked process.
bool Serve(const ForkRequest& request, std::vector<UniqueFd> descriptors, SpawnPayload& payload) {
  payload = ReadPayloadFile(descriptors.front().get());
  descriptors.erase(descriptors.begin());
  // The working folder is opened before the fork, so that its error can be answered with the
  // request.
  UniqueFd folder(::open(payload.working_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    SendMessage(kServerSocket, ForkAnswer{.error_number = errno});
    return false;
  }
  const pid_t pid = ForkSibling();
  if (pid == 0) {
    BecomeProcess(request, std::move(descriptors), std::move(folder), payload);
    return true;
  }
  if (pid < 0) SendMessage(kServerSocket, ForkAnswer{.error_number = errno, .forked = false});
  return false;
}

}  // namespace

bool IsForkServer(int argc, char** argv) {
  return argc == 3 && std::strcmp(argv[1], kForkServerFlag) == 0;
}

absl::StatusOr<std::unique_ptr<ForkServer>> ForkServer::Start(const std::string& program,
                                                              const std::string& for_whom) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no socket for the fork server: ", std::strerror(errno)));
  }
  UniqueFd own_end(ends[0]);
  const UniqueFd server_end(ends[1]);
  SubprocessRequest request;
  request.arguments = {program, kForkServerFlag, for_whom};
  request.stdout_fd = STDERR_FILENO;
  request.stderr_fd = STDERR_FILENO;
  request.inherited_fds = {server_end.get()};
  TONY_ASSIGN_OR_RETURN(Subprocess server, StartOwnProgram(request));
  return std::unique_ptr<ForkServer>(new ForkServer(std::move(own_end), std::move(server)));
}

ForkServer::~ForkServer() {
  socket_.Reset();  // tells the server to end
  if (!WaitReadable(server_.pidfd(), kEndLimit)) server_.Signal(SIGKILL);
  WaitReadable(server_.pidfd(), kEndLimit);
  (void)server_.TryWait();
}

absl::StatusOr<Subprocess> ForkServer::Fork(const SubprocessRequest& request) {
  if (request.arguments.empty() || !request.environment) {
    return absl::InvalidArgumentError("a fork needs arguments and an environment");
  }
  const std::string what = absl::StrCat("cannot start '", request.arguments.front(), "'");
  // The environment travels in a memory file, because it may be larger than a socket message can
  // be.
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const SpawnPayload asked{
      .arguments = request.arguments,
      .environment = *request.environment,
      .working_folder = request.working_folder.empty() ? "." : request.working_folder};
  TONY_ASSIGN_OR_RETURN(const UniqueFd payload, PayloadFile(asked));
  std::vector<int> descriptors = {payload.get(),
                                  request.stdout_fd < 0 ? null.get() : request.stdout_fd,
                                  request.stderr_fd < 0 ? null.get() : request.stderr_fd};
  descriptors.insert(descriptors.end(), request.inherited_fds.begin(), request.inherited_fds.end());
  if (!socket_.valid() ||
      !SendMessage(socket_.get(), ForkRequest{.new_session = request.new_session}, descriptors)) {
    if (socket_.valid() && (errno == EBADF || errno == EINVAL)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": a descriptor is not open, or there are too many"));
    }
    return absl::UnavailableError(absl::StrCat(what, ": its fork server is gone"));
  }
  return Answer(what, asked.working_folder);
}

absl::StatusOr<Subprocess> ForkServer::Answer(const std::string& what,
                                              const std::string& working_folder) {
  ForkAnswer answer;
  std::vector<UniqueFd> none;
  const bool readable = WaitReadable(socket_.get(), kAnswerLimit);
  // A server that does not answer is given up for good: a late answer would be taken for that of
  // the next request.
  if (!readable || ReceiveMessage(socket_.get(), answer, none, /*wait=*/false) <= 0) {
    LogWarning("the fork server is given up",
               {{"pid", server_.pid()}, {"why", readable ? "it is gone" : "it does not answer"}});
    socket_.Reset();
    server_.Signal(SIGKILL);
    if (readable) return absl::UnavailableError(absl::StrCat(what, ": its fork server is gone"));
    return absl::DeadlineExceededError(absl::StrCat(what, ": its fork server (pid ", server_.pid(),
                                                    ") did not answer within ",
                                                    kAnswerLimit.count(), " s"));
  }
  if (answer.pid > 0) return Subprocess::Adopt(answer.pid, what);
  if (answer.forked) {
    return ErrnoError(answer.error_number,
                      absl::StrCat(what, " in the folder '", working_folder, "'"));
  }
  return absl::UnavailableError(
      absl::StrCat(what, ": its fork server cannot fork: ", std::strerror(answer.error_number)));
}

std::vector<std::string> ServeForks(int argc, char** argv) {
  const ProcessTitle title(argc, argv);
  while (true) {
    ForkRequest request;
    std::vector<UniqueFd> descriptors;
    const ssize_t received = ReceiveMessage(kServerSocket, request, descriptors, /*wait=*/true);
    // ServeForks() returns only in a forked process; the server itself ends when its owner closes
    // the socket.
    if (received <= 0 || descriptors.size() < 3) ::_exit(0);
    SpawnPayload payload;
    if (!Serve(request, std::move(descriptors), payload)) continue;
    title.Set(payload.arguments);
    return payload.arguments;
  }
}

}  // namespace tony::os
