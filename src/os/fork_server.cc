// Requests and answers over a socket, and clone() with CLONE_PARENT.
#include "os/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files.h"
#include "os/message_socket.h"
#include "os/process_title.h"
#include "os/spawn_payload.h"

namespace tony::os {
namespace {

constexpr char kForkServerFlag[] = "--fork-server";
constexpr int kServerSocket = 3;  // where Subprocess::Start() puts it
constexpr int kAnswerMillis = 10'000;
constexpr int kEndMillis = 1'000;

/// With the descriptors: payload, standard output, standard error, and those to be inherited.
struct ForkRequest {
  bool new_session = true;
};

struct ForkAnswer {
  pid_t pid = 0;         // 0: nothing was started
  int error_number = 0;  // then: why
};

bool Readable(int fd, int millis) {
  pollfd watched{.fd = fd, .events = POLLIN};
  return ::poll(&watched, 1, millis) > 0;
}

// fork(), but the new process is a child of this one's parent, who gets its exit status. The C
// library has no call for that, and its note of the thread's own number would stay the server's:
// the kernel is told where to put the right one.
pid_t ForkSibling() {
  int* thread_number = nullptr;
  const bool found = ::prctl(PR_GET_TID_ADDRESS, &thread_number, 0, 0, 0) == 0;
  const long number =
      found && thread_number != nullptr ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0;
  return static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_PARENT | number | SIGCHLD, nullptr, nullptr, thread_number, 0));
}

// Puts `outputs` and `inherited` in their places from 1 on and closes all others.
void PlaceDescriptors(const std::vector<UniqueFd>& descriptors) {
  const int first_free = 1 + static_cast<int>(descriptors.size());
  std::vector<int> copies;
  for (const UniqueFd& fd : descriptors)
    copies.push_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_free));
  int target = 1;
  for (const int copy : copies) ::dup2(copy, target++);
  ::closefrom(first_free);
}

void ReplaceEnvironment(const std::vector<std::string>& environment) {
  ::clearenv();
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
}

// One round of the server: true in a forked process.
bool Serve(const ForkRequest& request, std::vector<UniqueFd> descriptors, SpawnPayload& payload) {
  payload = ReadPayloadFile(descriptors.front().get());
  descriptors.erase(descriptors.begin());
  ForkAnswer answer;
  const UniqueFd folder(::open(payload.working_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) answer.pid = ForkSibling();
  if (!folder.valid() || answer.pid < 0) answer = {.pid = 0, .error_number = errno};
  if (folder.valid() && answer.pid == 0 && answer.error_number == 0) {
    if (request.new_session) ::setsid();
    (void)!::fchdir(folder.get());
    PlaceDescriptors(descriptors);
    ReplaceEnvironment(payload.environment);
    return true;
  }
  SendMessage(kServerSocket, answer);
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
  TONY_ASSIGN_OR_RETURN(Subprocess server, Subprocess::Start(request));
  return std::unique_ptr<ForkServer>(new ForkServer(std::move(own_end), std::move(server)));
}

ForkServer::~ForkServer() {
  socket_.Reset();  // to the server the end
  if (!Readable(server_.pidfd(), kEndMillis)) server_.Signal(SIGKILL);
  Readable(server_.pidfd(), kEndMillis);
  (void)server_.TryWait();
}

absl::StatusOr<Subprocess> ForkServer::Fork(const SubprocessRequest& request) {
  const std::string what = absl::StrCat("cannot start '", request.arguments.front(), "'");
  if (!request.environment) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": a fork is given its environment"));
  }
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  SpawnPayload asked{
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
    if (socket_.valid() && errno == EBADF)
      return absl::InvalidArgumentError(absl::StrCat(what, ": a descriptor is not open"));
    return absl::UnavailableError(absl::StrCat(what, ": its fork server is gone"));
  }
  ForkAnswer answer;
  std::vector<UniqueFd> none;
  if (!Readable(socket_.get(), kAnswerMillis) ||
      ReceiveMessage(socket_.get(), answer, none, /*wait=*/false) <= 0) {
    socket_.Reset();
    server_.Signal(SIGKILL);
    return absl::DeadlineExceededError(absl::StrCat(what, ": its fork server (pid ", server_.pid(),
                                                    ") did not answer within ",
                                                    kAnswerMillis / 1000, " s, or was killed"));
  }
  if (answer.pid > 0) return Subprocess::Adopt(answer.pid, what);
  if (answer.error_number == EAGAIN || answer.error_number == ENOMEM)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": ", std::strerror(answer.error_number)));
  return ErrnoError(answer.error_number,
                    absl::StrCat(what, " in the folder '", asked.working_folder, "'"));
}

std::vector<std::string> ServeForks(int argc, char** argv) {
  const ProcessTitle title(argc, argv);
  while (true) {
    ForkRequest request;
    std::vector<UniqueFd> descriptors;
    const ssize_t received = ReceiveMessage(kServerSocket, request, descriptors, /*wait=*/true);
    if (received <= 0 || descriptors.size() < 3) ::_exit(0);
    SpawnPayload payload;
    if (!Serve(request, std::move(descriptors), payload)) continue;
    title.Set(payload.arguments);
    return payload.arguments;
  }
}

}  // namespace tony::os
