// An ApplicationMaster of which a test moves every finger.
//
//   yarn_backend_master SCHEDULER_HOST:PORT CONTROL_PORT
//                       [TYPE=LABEL… | TYPE+RESOURCE=AMOUNT… | TYPE@TAG=CONSTRAINT… | FILE…]
//
// Connects to CONTROL_PORT of this machine, tells there what the backend reports, one line each,
// and takes commands from there: the calls of the backend, each a line of words. Executors are
// `/bin/sh -c COMMAND`, with each FILE (its path begins with a slash) as "resource" in its folder.
// Ends when the connection does.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_backend.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_file.h"
#include "os/files/unique_fd.h"

namespace tony::backend {
namespace {

/// Lines to and from the test. Not thread safe.
class Control {
 public:
  static absl::StatusOr<os::UniqueFd> Connect(int port) {
    os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return absl::UnavailableError("no test at the control port");
    }
    return fd;
  }

  explicit Control(os::UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  void Say(std::string line) {
    for (char& c : line) {
      if (c == '\n') c = ' ';
    }
    line += '\n';
    if (::write(fd_.get(), line.data(), line.size()) < 0) std::exit(3);
  }
  /// Passes the received lines to `function`, whole lines only; false at the end.
  template <typename Function>
  bool Read(Function function) {
    char buffer[4096];
    const ssize_t size = ::read(fd_.get(), buffer, sizeof(buffer));
    if (size <= 0) return false;
    input_.append(buffer, static_cast<size_t>(size));
    for (size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      function(input_.substr(0, end));
      input_.erase(0, end + 1);
    }
    return true;
  }

 private:
  os::UniqueFd fd_;
  std::string input_;
};

/// Not thread safe: owned by the event loop.
class Master : public core::ClusterBackend::Listener {
 public:
  Master(EventLoop& loop, Control control, YarnBackendOptions options)
      : loop_(loop),
        control_(std::move(control)),
        backend_(loop, std::move(options), *this,
                 {.registered =
                      [this](const auto& registration) {
                        control_.Say(absl::StrCat("registered ", registration.queue, " ",
                                                  registration.largest.memory_mb, " ",
                                                  registration.largest.gpus));
                      },
                  .deposed = [this](const std::string& why) { control_.Say("deposed " + why); },
                  .failed =
                      [this](const absl::Status& why) { control_.Say("failed " + why.ToString()); },
                  .warning = [this](const std::string& what) { control_.Say("warning " + what); }}),
        watch_(loop.WatchReadable(control_.fd(), [this] {
          if (!control_.Read([this](const std::string& line) { Obey(line); })) loop_.Stop();
        })) {
    control_.Say(absl::StrCat("began ", ::getpid()));
  }

  void OnContainerGranted(const core::Container& container) override {
    control_.Say(absl::StrCat("granted ", container.id, " ", container.type, " ", container.host,
                              " ", container.resources.memory_mb, " ", container.resources.gpus));
  }
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override {
    control_.Say(absl::StrCat("waiting ", what, " | ", unblock));
  }
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override {
    control_.Say(absl::StrCat("refused ", never_fits ? "never " : "now ", sentence));
  }
  void OnContainerEnded(const std::string& id, const core::ContainerEnd& end) override {
    control_.Say(absl::StrCat("ended ", id, end.lost ? " lost" : " exited",
                              end.seen ? " seen " : " unseen ", end.sentence));
  }

 private:
  // "request worker 2 512 1 0 ps 1 256 1 0", "reclaim ID TYPE …", "launch ID COMMAND…", "kill ID",
  // "expect ID", "cancel", "start", "finish".
  void Obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string id;
    words >> verb;
    if (verb == "start") return backend_.Start();
    if (verb == "request") return Request(words);
    if (verb == "reclaim") return Reclaim(words);
    if (verb == "cancel") return backend_.CancelRequests();
    if (verb == "finish") return Finish();
    words >> id >> std::ws;
    if (verb == "kill") return backend_.Kill(id);
    if (verb == "expect") return backend_.ExpectEnd(id);
    std::string command;
    std::getline(words, command);
    backend_.Launch(id, {.arguments = {"-c", command, "it's", "{{HOME}}"},
                         .environment = {"ODD=$HOME `date` \"quoted\" \\ {{x}} <LOG_DIR>"},
                         .name = "task"});
  }

  void Request(std::istringstream& words) {
    std::vector<core::ContainerRequest> requests;
    core::ContainerRequest request;
    while (words >> request.type >> request.count >> request.resources.memory_mb >>
           request.resources.vcores >> request.resources.gpus) {
      requests.push_back(request);
    }
    backend_.Request(requests);
  }

  void Reclaim(std::istringstream& words) {
    std::vector<core::Container> containers;
    core::Container container;
    while (words >> container.id >> container.type) containers.push_back(container);
    backend_.Reclaim(containers);
  }

  void Finish() {
    backend_.Finish(YarnBackend::FinalStatus::kSucceeded, "as the test wants it", "",
                    [this](const absl::Status& status) {
                      control_.Say(absl::StrCat("finished ", status.ToString()));
                    });
  }

  EventLoop& loop_;
  Control control_;
  YarnBackend backend_;
  const std::unique_ptr<EventLoop::Handle> watch_;
};

// "TYPE=LABEL", "TYPE+RESOURCE=AMOUNT", or "TYPE@TAG=CONSTRAINT", which may be empty.
absl::Status Place(const std::string& argument, AllocationOptions& allocation) {
  const size_t equals = argument.find('=');
  const std::string value = argument.substr(equals + 1);
  const std::string name = argument.substr(0, equals);
  const size_t sign = name.find_first_of("+@");
  const std::string type = name.substr(0, sign);
  if (sign == std::string::npos) {
    allocation.node_labels[type] = value;
  } else if (name[sign] == '+') {
    allocation.other_resources[type][name.substr(sign + 1)] = std::atoi(value.c_str());
  } else {
    jobfile::TypePlacement& placement = allocation.placements[type];
    placement.tags = {name.substr(sign + 1)};
    if (value.empty()) return absl::OkStatus();
    TONY_ASSIGN_OR_RETURN(placement.constraint, jobfile::ParsePlacement(value));
  }
  return absl::OkStatus();
}

absl::Status Run(int count, char** arguments) {
  YarnBackendOptions options;
  TONY_ASSIGN_OR_RETURN(const hadoop::Endpoint scheduler,
                        hadoop::ParseEndpoint(arguments[1], 8030));
  options.scheduler = {scheduler};
  TONY_ASSIGN_OR_RETURN(const hadoop::TokenStore tokens,
                        hadoop::ReadTokenFile(std::getenv("HADOOP_TOKEN_FILE_LOCATION")));
  options.token = *tokens.Find(hadoop::kAmRmToken);
  options.host = "localhost";
  options.launch.command = {"/bin/sh"};
  options.launch.environment = {"BASE=from the template"};
  options.waiting_notice = std::chrono::seconds(2);
  options.start_timeout = std::chrono::seconds(5);
  options.kill_timeout = std::chrono::seconds(4);
  for (int i = 3; i < count; ++i) {
    const std::string pair = arguments[i];
    if (pair[0] == '/') {
      options.launch.resources.push_back({.name = "resource", .scheme = "file", .path = pair});
      continue;
    }
    TONY_RETURN_IF_ERROR(Place(pair, options.allocation));
  }
  TONY_ASSIGN_OR_RETURN(os::UniqueFd fd, Control::Connect(std::atoi(arguments[2])));
  EventLoop loop;
  Master master(loop, Control(std::move(fd)), std::move(options));
  loop.Run();
  return absl::OkStatus();
}

}  // namespace
}  // namespace tony::backend

int main(int count, char** arguments) {
  tony::SetUpProcess();
  if (count < 3) return 2;
  const absl::Status status = tony::backend::Run(count, arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "yarn_backend_master: %s\n", status.ToString().c_str());
  return 1;
}
