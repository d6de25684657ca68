// /proc/net/tcp and tcp6 give the sockets, /proc/PID/fd the processes.
#include "os/port_listeners.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>

#include "os/proc_file.h"

namespace tony::os {
namespace {

constexpr unsigned kStateListen = 0x0A;

struct ListeningSocket {
  uint16_t port = 0;
  uid_t uid = 0;
};
using SocketsByInode = std::map<unsigned long, ListeningSocket>;

void AddListening(const std::string& table, const std::vector<uint16_t>& ports,
                  SocketsByInode& sockets) {
  std::istringstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    unsigned port = 0, state = 0, uid = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(line.c_str(),
                                   " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x "
                                   "%*x %u %*d %lu",
                                   &port, &state, &uid, &inode);
    const auto wanted = static_cast<uint16_t>(port);
    if (fields != 4 || state != kStateListen) continue;
    if (std::find(ports.begin(), ports.end(), wanted) == ports.end()) continue;
    sockets[inode] = {.port = wanted, .uid = uid};
  }
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

// The sockets among `sockets` that the process has open, by inode.
std::vector<unsigned long> SocketsOf(const std::string& pid, const SocketsByInode& sockets) {
  std::vector<unsigned long> found;
  const std::string path = "/proc/" + pid + "/fd";
  const Folder folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return found;
  while (const dirent* entry = ::readdir(folder.get())) {
    char target[64];
    const ssize_t length =
        ::readlinkat(::dirfd(folder.get()), entry->d_name, target, sizeof(target) - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    unsigned long inode = 0;
    if (std::sscanf(target, "socket:[%lu]", &inode) == 1 && sockets.contains(inode)) {
      found.push_back(inode);
    }
  }
  // A process may have one socket under several numbers.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string CommandOf(const std::string& pid) {
  std::string name = ReadProcFile("/proc/" + pid + "/comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

absl::StatusOr<std::vector<PortListener>> FindListeners(const std::vector<uint16_t>& ports) {
  SocketsByInode sockets;
  std::string table;
  if (!ReadProcFile("/proc/net/tcp", table)) {
    return absl::UnavailableError("cannot read /proc/net/tcp to see who listens on a port");
  }
  AddListening(table, ports, sockets);
  if (ReadProcFile("/proc/net/tcp6", table)) AddListening(table, ports, sockets);

  std::vector<PortListener> listeners;
  if (sockets.empty()) return listeners;
  SocketsByInode unowned = sockets;
  const Folder processes(::opendir("/proc"), ::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    const std::string pid = entry->d_name;
    if (!std::isdigit(static_cast<unsigned char>(pid[0]))) continue;
    for (const unsigned long inode : SocketsOf(pid, sockets)) {
      const ListeningSocket& socket = sockets.at(inode);
      listeners.push_back({socket.port, std::atoi(pid.c_str()), CommandOf(pid), socket.uid});
      unowned.erase(inode);
    }
  }
  for (const auto& [inode, socket] : unowned) listeners.push_back({socket.port, 0, "", socket.uid});
  const auto order = [](const PortListener& listener) {
    return std::tuple(listener.port, listener.pid);
  };
  std::sort(listeners.begin(), listeners.end(),
            [&](const PortListener& a, const PortListener& b) { return order(a) < order(b); });
  return listeners;
}

}  // namespace tony::os
