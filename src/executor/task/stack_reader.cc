// A reading is one pass that blocks, on a thread of its own (task_stacks.h). Signals are sent to
// all processes first and awaited together, so 64 processes take hardly longer than one.
#include "executor/task/stack_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stacks/stack_parser.h"
#include "os/files/unique_fd.h"
#include "os/processes/process_handle.h"
#include "os/processes/process_status.h"
#include "os/processes/run_program.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// The processes of one task that are looked at.
constexpr size_t kMostProcesses = 256;
/// The threads of a process that are looked at.
constexpr size_t kMostTaskThreads = 512;
/// Threads of a process of which /proc is read.
constexpr size_t kMostShownThreads = 64;
/// A file that has grown beyond this is emptied after it was read.
constexpr off_t kLargeFile = 1 << 20;
/// Pause between two looks at the files.
constexpr milliseconds kPause{1};
/// What one run of a tool may take, and the share of the limit that is left for them.
constexpr milliseconds kToolLimit{400};
constexpr int kSignalShare = 2;  // one half
/// What is read of a process's answer, however many there are.
constexpr size_t kLeastText = 16 << 10;
/// Files in the folder from which on those of ended processes are removed.
constexpr size_t kManyFiles = 512;
constexpr char kSuffix[] = ".stacks";

std::string FileName(pid_t inner_pid) { return absl::StrCat(inner_pid, kSuffix); }

/// The folder of the processes' files.
struct FilesFolder {
  os::UniqueFd fd;
  std::string missing;  ///< why there is none; empty: there is one
};

FilesFolder OpenFolder(const std::string& path) {
  if (path.empty()) return {{}, "tony.task.stacks is off"};
  os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return {{}, "the folder for its stacks is gone"};
  return {std::move(fd), ""};
}

/// A process that is being read.
struct Reading {
  std::optional<os::ProcessHandle> handle;
  core::ProcessDump dump;
  char state = '?';
  os::UniqueFd file;         ///< valid: the signal is sent and the answer is awaited
  off_t begin = 0;           ///< where its answer begins in the file
  off_t size = 0;            ///< of the file at the last look
  std::set<pid_t> blocking;  ///< threads that blocked the signal before it was sent
  bool python = false;
};

/// The file of a process, if it is a plain one; an invalid descriptor otherwise.
os::UniqueFd OpenFile(int folder, const std::string& name, int flags) {
  os::UniqueFd file(
      openat(folder, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

/// The descriptor that the process writes to, by the first line of its file: "fd 3".
std::optional<int> DescriptorIn(int file) {
  char line[32] = {};
  const ssize_t size = pread(file, line, sizeof line - 1, 0);
  int number = -1;
  if (size <= 3 || !absl::StartsWith(line, "fd ")) return std::nullopt;
  const std::string text(line + 3);
  if (!absl::SimpleAtoi(text.substr(0, text.find('\n')), &number)) return std::nullopt;
  return number;
}

/// Whether the descriptor of the process still is the open file: a program that closes all its
/// descriptors may have opened another file, or a connection, with that number.
bool StillWrites(pid_t pid, int file) {
  const std::optional<int> number = DescriptorIn(file);
  if (!number) return false;
  struct stat own {};
  struct stat there {};
  return fstat(file, &own) == 0 &&
         stat(absl::StrCat("/proc/", pid, "/fd/", *number).c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

bool IsPython(pid_t pid) {
  std::error_code error;
  const std::string program =
      std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error).filename().string();
  return absl::StartsWith(program, "python") || absl::StartsWith(program, "pypy");
}

std::set<pid_t> Blocking(pid_t pid) {
  std::set<pid_t> blocking;
  for (const os::ProcessStatus& thread : os::ReadThreads(pid, kMostTaskThreads)) {
    if (thread.blocked.Has(kStacksSignal)) blocking.insert(thread.pid);
  }
  return blocking;
}

/// Why no signal was sent. Empty: it was, or the process is no Python, of which nobody expects it.
std::string SendSignal(Reading& reading, const os::ProcessStatus& status,
                       const FilesFolder& folder) {
  if (reading.state == 't') return "a debugger has stopped it";
  if (reading.state == 'T') return "it is stopped (SIGSTOP)";
  if (!folder.missing.empty()) return reading.python ? folder.missing : "";
  if (!status.caught.Has(kStacksSignal)) {
    return reading.python ? "its Python has no handler: it was started with -I, -E or -S, with "
                            "another PYTHONPATH, or has taken the handler away"
                          : "";
  }
  os::UniqueFd file = OpenFile(folder.fd.get(), FileName(status.inner_pid), O_RDONLY);
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || !StillWrites(status.pid, file.get())) {
    return "the file for its stacks is gone, or it has closed it";
  }
  reading.begin = reading.size = info.st_size;
  reading.blocking = Blocking(status.pid);
  // Looked at again, directly before the signal: a program that another one has replaced by exec()
  // meanwhile has no handler, and the signal would end it.
  const std::optional<os::ProcessStatus> again = os::ReadProcessStatus(status.pid);
  if (!again || !again->caught.Has(kStacksSignal) || !StillWrites(status.pid, file.get())) {
    return "it has just become another program";
  }
  reading.file = std::move(file);
  reading.handle->Signal(kStacksSignal);
  return "";
}

/// Whether the process has written all that it will write. Its file has grown, nothing more came
/// since the last look, and no thread runs the handler or is about to.
bool HasAnswered(Reading& reading) {
  struct stat info {};
  if (fstat(reading.file.get(), &info) != 0) return true;
  if (info.st_size <= reading.begin || info.st_size != std::exchange(reading.size, info.st_size)) {
    return reading.handle->ended();
  }
  const auto pid = static_cast<pid_t>(reading.dump.pid);
  const std::optional<os::ProcessStatus> status = os::ReadProcessStatus(pid);
  if (!status) return true;
  if (status->pending.Has(kStacksSignal)) return false;
  for (const pid_t thread : Blocking(pid)) {
    if (!reading.blocking.contains(thread)) return false;
  }
  // The handler may have written its last line between the two looks.
  return fstat(reading.file.get(), &info) == 0 && info.st_size == reading.size;
}

/// What was written into the file since the signal, and empties the file if it is large.
std::string TakeText(const Reading& reading, int folder, pid_t inner_pid, size_t limit) {
  std::string text(std::min<size_t>(limit, std::max<off_t>(0, reading.size - reading.begin)), '\0');
  const ssize_t size = pread(reading.file.get(), text.data(), text.size(), reading.begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  if (reading.size > kLargeFile) {
    const os::UniqueFd file = OpenFile(folder, FileName(inner_pid), O_RDWR);
    char line[32] = {};
    const ssize_t head = file.valid() ? pread(file.get(), line, sizeof line - 1, 0) : 0;
    const char* const end = std::find(line, line + std::max<ssize_t>(0, head), '\n');
    // Ignored: the file is the program's own, and only disk space is at stake.
    if (head > 0) (void)!ftruncate(file.get(), end - line + 1);
  }
  return text;
}

std::string StateName(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in uninterruptible sleep";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return absl::StrCat("in state ", std::string(1, state));
  }
}

std::string KernelWaits(pid_t pid) {
  std::string text;
  for (const os::ProcessStatus& thread : os::ReadThreads(pid, kMostShownThreads)) {
    const os::KernelPlace place = os::ReadKernelPlace(pid, thread.pid);
    text += core::KernelWaitLine(
        {thread.pid, thread.name, StateName(thread.state), place.function, place.system_call});
  }
  return text;
}

/// The path of a program in one of the folders; empty if there is none.
std::string FindTool(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (!folder.empty() && folder.front() == '/' && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

/// Lets a tool read the process. False: it could not, and the dump is unchanged.
bool UseTool(const std::vector<std::string>& command, const std::string& way, Duration limit,
             core::ProcessDump& dump) {
  if (command[0].empty() || limit <= Duration::zero()) return false;
  const auto done = os::RunWithDeadline(command, std::min<Duration>(limit, kToolLimit));
  if (!done.ok() || core::ParseStacks(way, done->standard_output).empty()) return false;
  dump.way = way;
  dump.text = done->standard_output;
  return true;
}

bool AnyThreadIn(char state, pid_t pid) {
  const std::vector<os::ProcessStatus> threads = os::ReadThreads(pid, kMostTaskThreads);
  return std::any_of(threads.begin(), threads.end(),
                     [state](const os::ProcessStatus& thread) { return thread.state == state; });
}

/// Lets eu-stack read the process. It stops the threads for that, and one that waits for a device
/// would stop only when the tool has been ended long ago: the whole program would stand still then.
bool UseElfutils(const std::vector<std::string>& folders, Duration limit, Reading& reading) {
  const auto pid = static_cast<pid_t>(reading.dump.pid);
  const std::string tool = FindTool(folders, "eu-stack");
  if (tool.empty() || AnyThreadIn('D', pid)) return false;
  if (UseTool({tool, "-p", absl::StrCat(pid)}, "eu-stack", limit, reading.dump)) return true;
  // Takes back a stop that the tool may have left behind when its time was over.
  if (reading.state != 'T' && reading.state != 't') reading.handle->Signal(SIGCONT);
  return false;
}

/// Reads a process that was sent no signal, or did not answer.
void ReadOtherwise(Reading& reading, const std::vector<std::string>& folders, TimePoint end) {
  core::ProcessDump& dump = reading.dump;
  const std::string pid = absl::StrCat(dump.pid);
  const auto left = [end] { return end - SystemClock().Now(); };
  if (reading.python &&
      UseTool({FindTool(folders, "py-spy"), "dump", "--nonblocking", "--pid", pid}, "py-spy",
              left(), dump)) {
    return;
  }
  if (UseElfutils(folders, left(), reading)) return;
  dump.way = "proc";
  dump.text = KernelWaits(static_cast<pid_t>(dump.pid));
}

/// Opens a process and sends the signal if it is safe. nullopt: it has ended.
/// `known`: the inner numbers so far. A program's own process namespaces may repeat one, and with
/// it the name of the file.
std::optional<Reading> Begin(pid_t pid, const FilesFolder& folder, std::set<pid_t>& known) {
  Reading reading;
  // The handle is opened before the status is read: a process that ends in between, and whose
  // number is used again, gets no signal.
  auto handle = os::ProcessHandle::Open(pid);
  if (!handle.ok()) return std::nullopt;
  reading.handle = *std::move(handle);
  const std::optional<os::ProcessStatus> status = os::ReadProcessStatus(pid);
  if (!status || status->state == 'Z' || reading.handle->ended()) return std::nullopt;
  reading.state = status->state;
  reading.python = IsPython(pid);
  reading.dump.pid = pid;
  reading.dump.inner_pid = status->inner_pid;
  reading.dump.parent = status->parent;
  reading.dump.program = status->name;
  reading.dump.trouble = known.insert(status->inner_pid).second
                             ? SendSignal(reading, *status, folder)
                             : "another process of the task has its number, in a process namespace";
  return reading;
}

/// Waits for the processes that were sent the signal, until `end`, and takes what they have
/// written.
void AwaitAnswers(std::vector<Reading>& readings, int folder, size_t limit, TimePoint end) {
  const SystemClock clock;
  while (true) {
    bool waiting = false;
    const bool late = clock.Now() >= end;
    for (Reading& reading : readings) {
      if (!reading.file.valid()) continue;
      const bool answered = HasAnswered(reading);
      if (!answered && !late) {
        waiting = true;
        continue;
      }
      core::ProcessDump& dump = reading.dump;
      dump.text = TakeText(reading, folder, static_cast<pid_t>(dump.inner_pid), limit);
      if (!core::ParseStacks("faulthandler", dump.text).empty()) dump.way = "faulthandler";
      if (!answered) {
        const auto status = os::ReadProcessStatus(static_cast<pid_t>(dump.pid));
        dump.trouble = absl::StrCat("it did not answer the signal in time, it is ",
                                    StateName(status ? status->state : 'Z'));
      }
      reading.file.Reset();
    }
    if (!waiting) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::vector<core::ProcessDump> ReadStacks(const StackReading& reading) {
  const TimePoint begin = SystemClock().Now();
  const FilesFolder folder = OpenFolder(reading.folder);
  std::vector<Reading> readings;
  std::set<pid_t> known;
  for (const pid_t pid : reading.processes) {
    if (readings.size() >= kMostProcesses) break;
    if (std::optional<Reading> one = Begin(pid, folder, known)) readings.push_back(*std::move(one));
  }
  const bool tools =
      !FindTool(reading.tools, "py-spy").empty() || !FindTool(reading.tools, "eu-stack").empty();
  // All texts together take a few times what is wanted of them.
  const size_t most = readings.empty() ? 0 : 4 * reading.limit_bytes / readings.size();
  AwaitAnswers(readings, folder.fd.get(), std::max(kLeastText, most),
               begin + reading.limit / (tools ? kSignalShare : 1));
  std::vector<core::ProcessDump> dumps;
  for (Reading& one : readings) {
    if (one.dump.way.empty()) ReadOtherwise(one, reading.tools, begin + reading.limit);
    // A process that ended meanwhile is no process of the task any more.
    if (one.dump.text.empty() && one.handle->ended()) continue;
    dumps.push_back(std::move(one.dump));
  }
  FitTexts(dumps, reading.limit_bytes);
  return dumps;
}

void FitTexts(std::vector<core::ProcessDump>& dumps, size_t limit) {
  std::vector<size_t> order(dumps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&dumps](size_t a, size_t b) { return dumps[a].text.size() < dumps[b].text.size(); });
  // Short texts leave what they do not need to the longer ones after them.
  for (size_t i = 0; i < order.size(); ++i) {
    core::ProcessDump& dump = dumps[order[i]];
    const size_t share = limit / (order.size() - i);
    if (dump.text.size() > share) {
      const size_t end = share == 0 ? std::string::npos : dump.text.rfind('\n', share - 1);
      dump.text.resize(end == std::string::npos ? 0 : end + 1);
      absl::StrAppend(&dump.trouble, dump.trouble.empty() ? "" : "; ", "its text was cut");
    }
    limit -= dump.text.size();
  }
}

std::vector<std::string> SweepStacks(const std::string& folder,
                                     const std::function<std::vector<pid_t>()>& processes,
                                     const std::vector<std::string>& orphans) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::string name = each->path().filename().string();
    if (absl::EndsWith(name, kSuffix)) names.push_back(std::move(name));
  }
  if (names.size() <= kManyFiles) return {};
  std::set<std::string> living;
  for (const pid_t pid : processes()) {
    const std::optional<os::ProcessStatus> status = os::ReadProcessStatus(pid);
    if (status) living.insert(FileName(status->inner_pid));
  }
  std::vector<std::string> left;
  for (std::string& name : names) {
    if (living.contains(name)) continue;
    if (std::find(orphans.begin(), orphans.end(), name) == orphans.end()) {
      left.push_back(std::move(name));
    } else {
      std::filesystem::remove(std::filesystem::path(folder) / name, error);
    }
  }
  return left;
}

}  // namespace tony::executor
