// Forks, setuid(), and sockets by hand.
#include "tests/os/network/second_user.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::os {
namespace {

bool BecomeSecondUser() { return ::setgid(kSecondUser) == 0 && ::setuid(kSecondUser) == 0; }

std::string Ask(int port, const std::string& request) {
  const UniqueFd socket = ConnectTo(static_cast<uint16_t>(port));
  if (!socket.valid()) return "not connected";
  ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string received;
  std::array<char, 4096> bytes;
  while (WaitReadable(socket.get())) {
    const ssize_t size = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) return received;
    received.append(bytes.data(), static_cast<size_t>(size));
  }
  return received + " and it does not end";
}

}  // namespace

bool CanBecomeSecondUser() { return ::geteuid() == 0; }

std::string AsSecondUser(const std::function<std::string()>& function) {
  LinePipe answer;
  const pid_t child = ForkChild([&] {
    const std::string text = BecomeSecondUser() ? function() : "cannot become the second user";
    ::dprintf(answer.write_fd(), "%s\n", absl::CEscape(text).c_str());
  });
  answer.CloseWriteEnd();
  const auto line = answer.ReadLine();
  ::kill(child, SIGKILL);  // it may hang
  ::waitpid(child, nullptr, 0);
  std::string text;
  return line && absl::CUnescape(*line, &text) ? text : "no answer";
}

std::string AskAsSecondUser(int port, const std::string& request) {
  return AsSecondUser([&] { return Ask(port, request); });
}

Flood::Flood(int port, int connections, const std::string& request) {
  LinePipe answer;
  child_ = ForkChild([&] {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (!BecomeSecondUser()) return;
    std::vector<UniqueFd> open;
    for (int i = 0; i < connections; ++i) {
      UniqueFd socket = ConnectTo(static_cast<uint16_t>(port));
      if (!socket.valid()) break;
      ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
      open.push_back(std::move(socket));
    }
    ::dprintf(answer.write_fd(), "%zu\n", open.size());
    ::pause();
  });
  answer.CloseWriteEnd();
  made_ = answer.ReadNumber();
}

Flood::~Flood() {
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace tony::os
