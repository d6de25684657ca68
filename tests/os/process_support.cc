// Waiting by poll(), never by sleeping.
#include "tests/os/process_support.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "common/clock.h"
#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"
#include "os/processes/run_program.h"

namespace tony::os {

bool WaitReadable(int fd) {
  pollfd watched{.fd = fd, .events = POLLIN};
  return ::poll(&watched, 1, kPatienceMillis) == 1;
}

bool WaitGone(pid_t pid) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return errno == ESRCH;
  return WaitReadable(pidfd.get());
}

bool IsAlive(pid_t pid) {
  const char state = StateOf(pid);
  return state != 0 && state != 'Z';
}

char StateOf(pid_t pid) {
  const std::string stat = ReadProcFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? '\0' : stat[name_end + 2];
}

bool WaitForState(pid_t pid, char state) {
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + std::chrono::milliseconds(kPatienceMillis);
  while (clock.Now() < deadline) {
    if (StateOf(pid) == state) return true;
    ::poll(nullptr, 0, 1);  // nobody announces it
  }
  return false;
}

std::string DescribeTree(pid_t root) {
  std::vector<pid_t> processes = Descendants(root);
  processes.push_back(root);
  std::string text;
  for (const pid_t pid : processes) {
    const std::string folder = "/proc/" + std::to_string(pid);
    for (const char* const file : {"/stat", "/cmdline", "/cgroup", "/syscall", "/stack"}) {
      text += folder + file + ": " + ReadProcFile(folder + file) + "\n";
    }
  }
  return text;
}

bool HasPython() {
  const auto program = RunWithDeadline({"python3", "-c", "pass"}, std::chrono::seconds(20));
  return program.ok() && program->status.ok();
}

LinePipe::LinePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  read_end_.Reset(ends[0]);
  write_end_.Reset(ends[1]);
}

std::optional<std::string> LinePipe::ReadLine() {
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> bytes;
    if (!WaitReadable(read_end_.get())) return std::nullopt;
    const ssize_t count = ::read(read_end_.get(), bytes.data(), bytes.size());
    if (count <= 0) return std::nullopt;
    buffer_.append(bytes.data(), static_cast<size_t>(count));
  }
}

int LinePipe::ReadNumber() { return std::atoi(ReadLine().value_or("0").c_str()); }

SpawnRequest BashRequest(const std::string& script, const LinePipe& output) {
  return {.arguments = {"bash", "-c", script},
          .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          .working_folder = "/",
          .stdout_fd = output.write_fd(),
          .stderr_fd = STDERR_FILENO,
          .leftover_grace = std::chrono::seconds(10)};
}

std::optional<KeeperEvent> WaitEvent(Keeper& keeper) {
  if (!WaitReadable(keeper.fd())) return std::nullopt;
  return keeper.Next();
}

pid_t ForkChild(const std::function<void()>& function) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  function();
  ::_exit(0);
}

pid_t StartMarked(const std::string& id, int levels, const LinePipe& idle) {
  LinePipe output;
  const pid_t child = ForkChild([&] {
    for (int level = 1; level < levels; ++level) {
      if (::fork() != 0) ::_exit(0);
    }
    ::setenv(kContainerIdVariable, id.c_str(), 1);
    ::dup2(idle.read_fd(), STDIN_FILENO);
    ::dup2(output.write_fd(), STDOUT_FILENO);
    ::execlp("bash", "bash", "-c", "echo $$; read -r", nullptr);
  });
  const pid_t marked = output.ReadNumber();
  if (marked != child) ::waitpid(child, nullptr, 0);
  return marked;
}

}  // namespace tony::os
