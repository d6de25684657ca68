// Reads the links in /proc/PID/fd; that of a socket is "socket:[INODE]".
#include "os/processes/open_files.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace tony::os {
namespace {

void AddProcess(pid_t pid, OpenFiles& found) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return;
  found.count = std::max(0, found.count);
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    ++found.count;
    char target[64];
    const ssize_t length =
        ::readlinkat(::dirfd(folder.get()), entry->d_name, target, sizeof(target) - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    unsigned long inode = 0;
    if (std::sscanf(target, "socket:[%lu]", &inode) == 1) found.sockets.push_back(inode);
  }
}

}  // namespace

OpenFiles FindOpenFiles(const std::vector<pid_t>& processes) {
  OpenFiles found;
  for (const pid_t pid : processes) AddProcess(pid, found);
  // Processes share sockets, and one process may have a socket open under several numbers.
  std::sort(found.sockets.begin(), found.sockets.end());
  found.sockets.erase(std::unique(found.sockets.begin(), found.sockets.end()), found.sockets.end());
  return found;
}

}  // namespace tony::os
