// Simulates the ranks of a Horovod job for a running tony-driver, and measures the driver.
// bench/rendezvous starts it with its flags, each "--name=value":
//
//   --workers=HOST:RANKS,…   as the driver's
//   --port=N                 the driver's rendezvous server
//   --driver=PID             the driver's process
//   --replica-port=N         the driver's port for replicas: ranks of all hosts but the first speak
//                            with a replica, one for each host; without it with the driver itself
//   --readers=WHO            who asks for the others' addresses: all ranks, one of each host
//                            (one-per-host), or none; the others put and remove theirs only
//   --least-bytes=N          shorter addresses are filled up, as if there were more ranks
//   --rounds=N               how often all ranks initialize
//
// Prints one object of JSON, or ends with 1 and a sentence.
#include <sys/types.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "common/tcp_socket.h"
#include "core/rendezvous/worker_hosts.h"
#include "executor/horovod/rendezvous_replica.h"
#include "nlohmann/json.hpp"
#include "tests/rendezvous/rendezvous_run.h"
#include "tony/v1/application_master.pb.h"

namespace tony {
namespace {

enum class Readers { kAll, kOnePerHost, kNone };

struct Flags {
  std::string workers;
  int port = 0;
  int driver = 0;
  int replica_port = 0;
  Readers readers = Readers::kAll;
  int64_t least_bytes = 0;
  int rounds = 1;
};

absl::StatusOr<Readers> ReadersCalled(const std::string& name) {
  if (name == "all") return Readers::kAll;
  if (name == "one-per-host") return Readers::kOnePerHost;
  if (name == "none") return Readers::kNone;
  return absl::InvalidArgumentError("--readers= is all, one-per-host or none");
}

absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> given;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (!absl::StartsWith(argument, "--") || equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(argument, " is not of the form --name=value"));
    }
    given[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
  }
  Flags flags;
  absl::Status status;
  const auto number = [&](const std::string& name, auto& target) {
    const auto text = given.extract(name);
    if (text.empty() || absl::SimpleAtoi(text.mapped(), &target)) return;
    status = absl::InvalidArgumentError(absl::StrCat("--", name, "= is a number"));
  };
  number("port", flags.port);
  number("driver", flags.driver);
  number("replica-port", flags.replica_port);
  number("least-bytes", flags.least_bytes);
  number("rounds", flags.rounds);
  TONY_RETURN_IF_ERROR(status);
  if (const auto readers = given.extract("readers"); !readers.empty()) {
    TONY_ASSIGN_OR_RETURN(flags.readers, ReadersCalled(readers.mapped()));
  }
  if (const auto workers = given.extract("workers"); !workers.empty()) {
    flags.workers = workers.mapped();
  }
  if (!given.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--", given.begin()->first, "= is unknown"));
  }
  if (flags.workers.empty() || flags.port == 0 || flags.driver == 0) {
    return absl::InvalidArgumentError("--workers=, --port= and --driver= are missing");
  }
  return flags;
}

/// In place of the tunnel through the ApplicationMaster: a connection to the driver's own port. Not
/// thread safe: owned by the event loop.
class DirectTunnel : public rpc::TunnelEnd {
 public:
  DirectTunnel(EventLoop& loop, int port, Callbacks callbacks) : callbacks_(std::move(callbacks)) {
    connecting_ = TcpSocket::Connect(loop, "127.0.0.1", port, [this](auto socket) {
      if (!socket.ok()) return callbacks_.on_closed(socket.status());
      socket_ = *std::move(socket);
      callbacks_.on_written();
      if (wants_) Read();
    });
  }

  void Read() override {
    wants_ = true;
    if (socket_ == nullptr) return;
    socket_->Read([this](absl::StatusOr<std::string> bytes) {
      if (!bytes.ok()) return callbacks_.on_closed(bytes.status());
      v1::TunnelFrame frame;
      if (bytes->empty()) {
        (void)frame.mutable_end();
      } else {
        frame.set_data(*std::move(bytes));
      }
      callbacks_.on_frame(std::move(frame));
    });
  }

  void Write(v1::TunnelFrame frame) override {
    socket_->Write(std::move(*frame.mutable_data()), [this](const absl::Status& status) {
      status.ok() ? callbacks_.on_written() : callbacks_.on_closed(status);
    });
  }

 private:
  const Callbacks callbacks_;
  bool wants_ = false;
  std::unique_ptr<EventLoop::Handle> connecting_;
  std::unique_ptr<TcpSocket> socket_;
};

/// The replicas by host; none for the first host, which is the driver's machine.
using Replicas = std::map<std::string, std::unique_ptr<executor::RendezvousReplica>>;

absl::StatusOr<Replicas> StartReplicas(EventLoop& loop, const Flags& flags,
                                       const std::vector<core::HostSlots>& hosts) {
  Replicas replicas;
  if (flags.replica_port == 0) return replicas;
  const auto dial = [&loop, port = flags.replica_port](auto callbacks) {
    return std::make_unique<DirectTunnel>(loop, port, std::move(callbacks));
  };
  for (size_t i = 1; i < hosts.size(); ++i) {
    TONY_ASSIGN_OR_RETURN(replicas[hosts[i].host], executor::RendezvousReplica::Start(loop, dial));
  }
  return replicas;
}

/// The driver's processor time, in all of its threads.
absl::StatusOr<double> CpuSeconds(int process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(static_cast<pid_t>(process), &clock) != 0 ||
      ::clock_gettime(clock, &used) != 0) {
    return absl::NotFoundError(absl::StrCat("the driver, process ", process, ", is gone"));
  }
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// The driver's peak memory, resident.
absl::StatusOr<int64_t> PeakBytes(int process) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return absl::NotFoundError(absl::StrCat("the driver, process ", process, ", is gone"));
}

size_t BytesOfAddresses(int ranks, const Flags& flags) {
  return std::max(core::kAddressBytes * static_cast<size_t>(ranks - 1),
                  static_cast<size_t>(flags.least_bytes));
}

/// The answer to a rank that asks for another one's addresses, in all groups.
double MeanAnswerBytes(const std::vector<core::Slot>& plan, const Flags& flags) {
  double bytes = 0, answers = 0;
  for (const core::Slot& slot : plan) {
    for (const rendezvous::GlooContext& context : rendezvous::ContextsOf(slot)) {
      answers += context.size - 1;
      bytes += (context.size - 1) * static_cast<double>(BytesOfAddresses(context.size, flags));
    }
  }
  return bytes / answers;
}

absl::StatusOr<nlohmann::json> Play(const Flags& flags) {
  TONY_ASSIGN_OR_RETURN(const std::vector<core::HostSlots> hosts,
                        core::ParseWorkerList(flags.workers));
  int ranks = 0;
  for (const core::HostSlots& host : hosts) ranks += host.slots;
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Slot> plan, core::PlanSlots(hosts, ranks));
  LoopDriver driver;
  TONY_ASSIGN_OR_RETURN(const Replicas replicas, StartReplicas(driver.loop(), flags, hosts));
  const auto role_of = [&](const core::Slot& slot) {
    rendezvous::RankRole role{.port = flags.port,
                              .least_bytes = static_cast<size_t>(flags.least_bytes)};
    const auto replica = replicas.find(slot.host);
    if (replica != replicas.end()) role.port = replica->second->port();
    role.reads = flags.readers == Readers::kAll ||
                 (flags.readers == Readers::kOnePerHost && slot.local_rank == 0);
    return role;
  };
  TONY_ASSIGN_OR_RETURN(const double cpu_before, CpuSeconds(flags.driver));
  rendezvous::RequestCounts counts;
  double seconds = 0;
  for (int round = 0; round < flags.rounds; ++round) {
    const rendezvous::RendezvousRun run =
        rendezvous::RunRendezvous(driver, plan, {.timeout = std::chrono::seconds(300)}, role_of);
    for (const absl::Status& result : run.results) TONY_RETURN_IF_ERROR(result);
    counts.Add(run.counts);
    seconds += static_cast<double>(run.time.count()) / 1e6;
  }
  TONY_ASSIGN_OR_RETURN(const double cpu_after, CpuSeconds(flags.driver));
  TONY_ASSIGN_OR_RETURN(const int64_t peak, PeakBytes(flags.driver));
  return nlohmann::json{
      {"gets", counts.gets},
      {"missing", counts.missing},
      {"failed", counts.failed},
      {"puts_and_deletes", counts.puts + counts.deletes},
      {"answer_bytes", MeanAnswerBytes(plan, flags)},
      {"stored_bytes", static_cast<size_t>(ranks) * BytesOfAddresses(ranks, flags)},
      {"seconds", seconds},
      {"driver_cpu_seconds", cpu_after - cpu_before},
      {"driver_peak_bytes", peak}};
}

}  // namespace
}  // namespace tony

int main(int argc, char** argv) {
  tony::SetUpProcess();
  tony::RaiseOpenFiles();
  const auto flags = tony::ParseFlags(std::vector<std::string>(argv + 1, argv + argc));
  const auto measured =
      flags.ok() ? tony::Play(*flags) : absl::StatusOr<nlohmann::json>(flags.status());
  if (!measured.ok()) {
    std::fprintf(stderr, "rendezvous-ranks: %s\n", measured.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", measured->dump().c_str());
  return 0;
}
