// A task that listens on its reserved port and talks to its neighbour, and, with --grab COUNT, the
// program beside it that takes free ports as fast as it can. For ports_hammer.py.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(1);
volatile sig_atomic_t told_to_end = 0;

[[noreturn]] void Fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A socket that is closed with this object. Not thread safe.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  void Set(int level, int option, int value) const {
    if (setsockopt(fd_, level, option, &value, sizeof value) != 0) Fail("setsockopt");
  }

 private:
  int fd_;
};

Socket OpenSocket(int family) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) Fail("socket");
  return socket;
}

sockaddr_in AddressOf(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

const sockaddr* Generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Listens as different servers do: on all addresses or one, with one option or the other.
Socket Listen(int port, int index) {
  const bool all_addresses = index % 2 == 0 && access("/proc/net/tcp6", F_OK) == 0;
  Socket listener = OpenSocket(all_addresses ? AF_INET6 : AF_INET);
  listener.Set(SOL_SOCKET, index % 4 < 2 ? SO_REUSEADDR : SO_REUSEPORT, 1);
  int bound;
  if (all_addresses) {
    listener.Set(IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    bound = bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    const sockaddr_in address = AddressOf("127.0.0.1", port);
    bound = bind(listener.get(), Generic(address), sizeof address);
  }
  if (bound != 0) Fail("cannot bind port " + std::to_string(port));
  if (listen(listener.get(), 8) != 0) Fail("cannot listen on port " + std::to_string(port));
  return listener;
}

/// Connects as soon as somebody listens there.
Socket Connect(const std::string& host, int port) {
  const sockaddr_in address = AddressOf(host, port);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    Socket socket = OpenSocket(AF_INET);
    if (connect(socket.get(), Generic(address), sizeof address) == 0) return socket;
    if (errno != ECONNREFUSED || std::chrono::steady_clock::now() > deadline) {
      Fail("cannot connect to port " + std::to_string(port));
    }
    std::this_thread::sleep_for(kPause);
  }
}

void WriteLine(const Socket& socket, const std::string& text) {
  const std::string line = text + "\n";
  if (write(socket.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    Fail("cannot write");
  }
}

std::string ReadLine(const Socket& socket) {
  std::string line;
  char next;
  while (read(socket.get(), &next, 1) == 1 && next != '\n') line += next;
  return line;
}

/// The ring: each task tells the next one its number, and hears that of the one before.
void TalkToNeighbours() {
  const auto members = nlohmann::json::parse(std::getenv("CLUSTER_SPEC")).at("worker");
  const int count = static_cast<int>(members.size());
  const int index = std::stoi(std::getenv("TASK_INDEX"));
  const auto port_of = [&](int member) {
    const std::string address = members.at(member);
    return std::stoi(address.substr(address.find(':') + 1));
  };
  alarm(static_cast<unsigned>(kPatience.count()));
  const Socket listener = Listen(port_of(index), index);
  const Socket next = Connect("127.0.0.1", port_of((index + 1) % count));
  WriteLine(next, std::to_string(index));
  const Socket previous(accept(listener.get(), nullptr, nullptr));
  if (previous.get() < 0) Fail("cannot accept");
  const std::string heard = ReadLine(previous);
  if (heard != std::to_string((index + count - 1) % count)) {
    throw std::runtime_error("somebody else connected: '" + heard + "'");
  }
  std::cout << "served port " << port_of(index) << std::endl;
}

/// Takes free ports in turn by binding port 0, listening there, and connecting without binding;
/// holds the last `count` of them. Returns how many it has taken.
int64_t GrabPorts(size_t count) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const Socket target = OpenSocket(AF_INET);
  sockaddr_in address = AddressOf("127.0.0.1", 0);
  if (bind(target.get(), Generic(address), sizeof address) != 0) Fail("bind");
  if (listen(target.get(), 4096) != 0) Fail("listen");
  socklen_t size = sizeof address;
  getsockname(target.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const sockaddr_in any_port = AddressOf("0.0.0.0", 0);

  std::vector<Socket> held;
  int64_t grabbed = 0;
  for (; told_to_end == 0; ++grabbed) {
    Socket socket = OpenSocket(AF_INET);
    // Without this the ports of closed connections would stay in use for a minute each.
    const linger at_once{1, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (grabbed % 3 != 0) (void)bind(socket.get(), Generic(any_port), sizeof any_port);
    if (grabbed % 3 == 1) {
      (void)listen(socket.get(), 1);
    } else if (connect(socket.get(), Generic(address), sizeof address) == 0) {
      const Socket accepted(accept(target.get(), nullptr, nullptr));
      setsockopt(accepted.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    if (held.size() < count) {
      held.push_back(std::move(socket));
    } else {
      held[static_cast<size_t>(grabbed) % count] = std::move(socket);
    }
  }
  return grabbed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && argv[1] == std::string("--grab")) {
      struct sigaction action {};  // without SA_RESTART, so that it ends a wait, too
      action.sa_handler = [](int) { told_to_end = 1; };
      sigaction(SIGTERM, &action, nullptr);
      std::cout << "grabbing" << std::endl;
      std::cout << GrabPorts(std::stoul(argv[2])) << std::endl;
    } else {
      TalkToNeighbours();
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
