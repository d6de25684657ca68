// Reads a program's output from two pipes until both close and the program ends, or the time is up.
#include "os/processes/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/unique_fd.h"
#include "os/processes/subprocess.h"

namespace tony::os {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Waits for the end of the killed program, but not for ever: a process that hangs inside a driver
// cannot even be killed.
void EndNow(Subprocess& process) {
  process.SignalSession(SIGKILL);
  pollfd watched{.fd = process.pidfd(), .events = POLLIN};
  ::poll(&watched, 1, 500);
  process.TryWait();
}

// Reads the available bytes; closes the descriptor at its end.
void Drain(UniqueFd& fd, std::string& output) {
  std::array<char, 16384> buffer;
  const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) return fd.Reset();
  const size_t room = kMaxOutput - output.size();
  output.append(buffer.data(), std::min(static_cast<size_t>(count), room));
}

}  // namespace

absl::StatusOr<FinishedProgram> RunWithDeadline(
    const std::vector<std::string>& arguments, Duration limit,
    std::optional<std::vector<std::string>> environment) {
  TONY_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  TONY_ASSIGN_OR_RETURN(Pipe errors, MakePipe());
  SubprocessRequest request{.arguments = arguments, .environment = std::move(environment)};
  request.stdout_fd = output.write_end.get();
  request.stderr_fd = errors.write_end.get();
  TONY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(request));
  output.write_end.Reset();
  errors.write_end.Reset();

  // The loop ends only when the program has ended and both pipes are closed: a child of the program
  // may still write to them.
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + limit;
  FinishedProgram finished;
  bool ended = false;
  while (!ended || output.read_end.valid() || errors.read_end.valid()) {
    const int64_t left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now()).count();
    pollfd watched[] = {{.fd = output.read_end.get(), .events = POLLIN},
                        {.fd = errors.read_end.get(), .events = POLLIN},
                        {.fd = ended ? -1 : process.pidfd(), .events = POLLIN}};
    const int ready = left > 0 ? ::poll(watched, 3, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      LogInfo("a program does not end in time and is killed",
              {{"program", arguments[0]}, {"pid", process.pid()}});
      EndNow(process);
      return absl::DeadlineExceededError(absl::StrCat(
          "'", arguments[0], "' did not end within ",
          std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(), " ms"));
    }
    if (watched[0].revents != 0) Drain(output.read_end, finished.standard_output);
    if (watched[1].revents != 0) Drain(errors.read_end, finished.standard_error);
    if (watched[2].revents != 0) ended = true;
  }
  finished.status = process.TryWait().value_or(ExitStatus{});
  return finished;
}

}  // namespace tony::os
