// Reads /proc/PID/stat, status, exe and cmdline.
#include "os/processes/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "os/files/proc_file.h"

namespace tony::os {

std::optional<int64_t> ProcessStart(pid_t pid) {
  // proc(5) counts fields from 1. The second field, the name, may hold any character and ends with
  // the last parenthesis.
  constexpr size_t kStart = 22 - 3;
  const std::string stat = ReadProcFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > stat.size()) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 2), ' ');
  int64_t start = 0;
  if (fields.size() <= kStart || !absl::SimpleAtoi(fields[kStart], &start)) return std::nullopt;
  return start;
}

bool IsOwnProcess(pid_t pid) {
  const std::string status = ReadProcFile(absl::StrCat("/proc/", pid, "/status"));
  const size_t line = status.find("\nUid:");
  unsigned users[4];
  if (line == std::string::npos || std::sscanf(status.c_str() + line, "\nUid: %u %u %u %u",
                                               &users[0], &users[1], &users[2], &users[3]) != 4) {
    return false;
  }
  return std::all_of(std::begin(users), std::end(users),
                     [own = ::geteuid()](unsigned user) { return user == own; });
}

bool Executes(pid_t pid, const std::string& program) {
  const std::string link = absl::StrCat("/proc/", pid, "/exe");
  struct stat executed {};
  struct stat wanted {};
  if (::stat(link.c_str(), &executed) != 0) return false;
  if (::stat(program.c_str(), &wanted) == 0 && executed.st_dev == wanted.st_dev &&
      executed.st_ino == wanted.st_ino) {
    return true;
  }
  // After an upgrade, the kernel reports the running program under its old name with " (deleted)".
  std::error_code error;
  const std::string path = std::filesystem::read_symlink(link, error).string();
  const std::filesystem::path target = std::filesystem::weakly_canonical(program, error);
  return !error && path == target.string() + " (deleted)";
}

std::optional<std::string> ArgumentOf(pid_t pid, const std::string& prefix) {
  std::string line = ReadProcFile(absl::StrCat("/proc/", pid, "/cmdline"));
  while (!line.empty() && line.back() == '\0') line.pop_back();
  // A process that shows a title of its own separates its arguments by spaces.
  const char divider = line.find('\0') != std::string::npos ? '\0' : ' ';
  const size_t at = (divider + line).find(divider + prefix);
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + prefix.size();
  return line.substr(begin, line.find(divider, begin) - begin);
}

}  // namespace tony::os
