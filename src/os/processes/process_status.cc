// Reads /proc/PID/status, wchan and syscall of processes and their threads.
#include "os/processes/process_status.h"

#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "os/files/proc_file.h"

namespace tony::os {
namespace {

/// The calls in which programs wait. Only those that every architecture has.
constexpr std::pair<long, const char*> kSystemCalls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
#endif
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_openat, "openat"},
    {SYS_ioctl, "ioctl"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
};

SignalSet ParseSignals(absl::string_view text) {
  uint64_t bits = 0;
  return absl::SimpleHexAtoi(text, &bits) ? SignalSet(bits) : SignalSet();
}

pid_t Number(absl::string_view text) {
  int number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

// The kernel escapes line ends in the name, so a line is a field.
ProcessStatus ParseStatus(const std::string& text) {
  ProcessStatus status;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(":\t", 1));
    const auto& [name, value] = field;
    if (name == "Name") status.name = std::string(value);
    if (name == "State" && !value.empty()) status.state = value.front();
    if (name == "Pid") status.pid = status.inner_pid = Number(value);
    if (name == "PPid") status.parent = Number(value);
    if (name == "NSpid") status.inner_pid = Number(value.substr(value.rfind('\t') + 1));
    if (name == "SigCgt") status.caught = ParseSignals(value);
    if (name == "SigBlk") status.blocked = ParseSignals(value);
    if (name == "ShdPnd") status.pending = ParseSignals(value);
    if (name == "SigPnd") status.thread_pending = ParseSignals(value);
  }
  return status;
}

std::optional<ProcessStatus> ReadStatus(const std::string& path) {
  std::string text;
  if (!ReadProcFile(path, text)) return std::nullopt;
  return ParseStatus(text);
}

}  // namespace

std::optional<ProcessStatus> ReadProcessStatus(pid_t pid) {
  return ReadStatus(absl::StrCat("/proc/", pid, "/status"));
}

std::vector<ProcessStatus> ReadThreads(pid_t pid, size_t most) {
  std::vector<pid_t> numbers;
  std::error_code error;
  const std::string folder = absl::StrCat("/proc/", pid, "/task");
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    numbers.push_back(Number(each->path().filename().string()));
    if (numbers.size() >= most) break;
  }
  const auto main = std::find(numbers.begin(), numbers.end(), pid);
  if (main != numbers.end()) std::rotate(numbers.begin(), main, main + 1);
  std::vector<ProcessStatus> threads;
  for (const pid_t number : numbers) {
    std::optional<ProcessStatus> status = ReadStatus(absl::StrCat(folder, "/", number, "/status"));
    if (status) threads.push_back(*std::move(status));
  }
  return threads;
}

// The number of the system call is only told to those who might trace the process.
KernelPlace ReadKernelPlace(pid_t pid, pid_t thread) {
  const std::string folder = absl::StrCat("/proc/", pid, "/task/", thread, "/");
  KernelPlace place;
  place.function = ReadProcFile(folder + "wchan");
  if (place.function == "0") place.function.clear();
  const std::string call = ReadProcFile(folder + "syscall");
  const std::string first = call.substr(0, call.find_first_of(" \n"));
  int64_t number = 0;
  if (!absl::SimpleAtoi(first, &number) || number < 0) return place;
  place.system_call = absl::StrCat("system call ", number);
  for (const auto& [known, name] : kSystemCalls) {
    if (known == number) place.system_call = name;
  }
  return place;
}

}  // namespace tony::os
