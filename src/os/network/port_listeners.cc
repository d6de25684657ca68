// Gets the listening sockets from sock_diag, or from /proc/net/tcp and tcp6, and finds their
// processes by the socket inodes in /proc/PID/fd.
#include "os/network/port_listeners.h"

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

#include "absl/algorithm/container.h"
#include "common/status_macros.h"
#include "os/files/proc_file.h"
#include "os/network/sock_diag.h"
#include "os/processes/open_files.h"

namespace tony::os {
namespace {

constexpr unsigned kStateListen = 0x0A;

using SocketsByInode = std::map<unsigned long, ListeningSocket>;

// Adds the listening sockets in the text of /proc/net/tcp or tcp6.
void AddListening(const std::string& table, std::vector<ListeningSocket>& sockets) {
  std::istringstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    unsigned port = 0, state = 0, uid = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(line.c_str(),
                                   " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x "
                                   "%*x %u %*d %lu",
                                   &port, &state, &uid, &inode);
    if (fields != 4 || state != kStateListen) continue;
    sockets.push_back({.port = static_cast<uint16_t>(port), .inode = inode, .uid = uid});
  }
}

absl::StatusOr<std::vector<ListeningSocket>> ListeningSockets() {
  if (auto answer = AskForListeningSockets()) return std::move(*answer);
  std::vector<ListeningSocket> sockets;
  std::string table;
  if (!ReadProcFile("/proc/net/tcp", table)) {
    return absl::UnavailableError("cannot read /proc/net/tcp to see who listens on a port");
  }
  AddListening(table, sockets);
  if (ReadProcFile("/proc/net/tcp6", table)) AddListening(table, sockets);
  return sockets;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

// Inodes of the sockets among `sockets` that the process has open.
std::vector<unsigned long> SocketsOf(pid_t pid, const SocketsByInode& sockets) {
  std::vector<unsigned long> found = FindOpenFiles({pid}).sockets;
  std::erase_if(found, [&](unsigned long inode) { return !sockets.contains(inode); });
  return found;
}

std::string CommandOf(const std::string& pid) {
  std::string name = ReadProcFile("/proc/" + pid + "/comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

absl::StatusOr<std::vector<PortListener>> FindListeners(const std::vector<uint16_t>& ports) {
  TONY_ASSIGN_OR_RETURN(const std::vector<ListeningSocket> listening, ListeningSockets());
  SocketsByInode sockets;
  for (const ListeningSocket& socket : listening) {
    if (absl::c_linear_search(ports, socket.port)) sockets[socket.inode] = socket;
  }

  std::vector<PortListener> listeners;
  if (sockets.empty()) return listeners;
  // Sockets whose process is hidden from this user remain in `unowned` and are reported without a
  // process.
  SocketsByInode unowned = sockets;
  const Folder processes(::opendir("/proc"), ::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    const std::string pid = entry->d_name;
    if (!std::isdigit(static_cast<unsigned char>(pid[0]))) continue;
    for (const unsigned long inode : SocketsOf(std::atoi(pid.c_str()), sockets)) {
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

absl::StatusOr<bool> AnyListens(uint16_t port, const std::vector<pid_t>& processes) {
  TONY_ASSIGN_OR_RETURN(const std::vector<ListeningSocket> listening, ListeningSockets());
  SocketsByInode sockets;
  for (const ListeningSocket& socket : listening) {
    if (socket.port == port) sockets[socket.inode] = socket;
  }
  return !sockets.empty() &&
         absl::c_any_of(processes, [&](pid_t pid) { return !SocketsOf(pid, sockets).empty(); });
}

absl::StatusOr<bool> UserListens(uint16_t port, uid_t user) {
  TONY_ASSIGN_OR_RETURN(const std::vector<ListeningSocket> listening, ListeningSockets());
  return absl::c_any_of(listening, [&](const ListeningSocket& socket) {
    return socket.port == port && socket.uid == user;
  });
}

}  // namespace tony::os
