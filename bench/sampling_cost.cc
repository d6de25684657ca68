// What an executor spends on measuring its task, for a small program and for a large one.
//
//   sampling-cost [SECONDS]
//
// Starts each program through a real keeper and samples it each second, for SECONDS (20). Prints
// the processor time of a sample, and ends with 1 if one of them takes more than half a percent of
// a processor.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/task/ration.h"
#include "executor/task/usage_sampler.h"
#include "os/containment/cgroup_meter.h"
#include "os/containment/keeper.h"
#include "os/files/wait_readable.h"
#include "os/machine/host_traffic.h"
#include "os/machine/resident_memory.h"
#include "os/machine/resource_usage.h"
#include "os/network/sock_diag.h"
#include "os/processes/open_files.h"

namespace {

using tony::Duration;
using tony::executor::ThreadTime;
using tony::executor::UsageSampler;

constexpr double kMostShare = 0.005;
constexpr std::chrono::seconds kStartLimit{120};

struct Program {
  const char* name;
  int processes, threads, files, connections, mebibytes;  ///< the latter four of each process
};

constexpr Program kPrograms[] = {
    {"a program of one process", 1, 1, 10, 0, 10},
    {"8 loaders, 32 threads, 200 files and 16 connections each, 1 GiB", 9, 32, 200, 16, 120},
    {"64 processes, 64 threads, 100 files and 8 connections each, 2 GiB", 64, 64, 100, 8, 32},
};

/// Its arguments are the numbers of a Program, without the name.
constexpr char kScript[] = R"(
import os, socket, sys, threading
processes, threads, files, connections, mebibytes = map(int, sys.argv[1:])
read_end, write_end = os.pipe()
def fill():
    keep = [open("/dev/null") for _ in range(files)]
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    for _ in range(connections // 2):
        client = socket.create_connection(server.getsockname())
        keep += [client, server.accept()[0]]
    keep.append(os.urandom(1 << 20) * mebibytes)
    for _ in range(threads - 1):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    os.write(write_end, b"x")
    threading.Event().wait()
for _ in range(processes - 1):
    if os.fork() == 0:
        fill()
threading.Thread(target=fill, daemon=True).start()
for _ in range(processes):
    os.read(read_end, 1)
print("ready", flush=True)
threading.Event().wait()
)";

bool Start(tony::os::Keeper& keeper, const Program& program) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  tony::os::SpawnRequest request;
  request.arguments = {"python3", "-c", kScript};
  for (const int number : {program.processes, program.threads, program.files, program.connections,
                           program.mebibytes}) {
    request.arguments.push_back(absl::StrCat(number));
  }
  request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  request.working_folder = "/";
  request.stdout_fd = ends[1];
  request.stderr_fd = STDERR_FILENO;
  if (!keeper.Spawn(request).ok()) return false;
  ::close(ends[1]);
  char byte = 0;
  return tony::os::WaitReadable(ends[0], kStartLimit) && ::read(ends[0], &byte, 1) == 1;
}

/// Prints what the parts of a sample cost, each by itself.
void PrintParts(const tony::os::Keeper& keeper) {
  const std::vector<pid_t> processes = keeper.Processes();
  const std::vector<unsigned long> sockets = tony::os::FindOpenFiles(processes).sockets;
  tony::os::CgroupMeter group;
  const auto print = [](const char* name, const auto& part) {
    constexpr int kTimes = 5;
    const Duration before = ThreadTime();
    for (int i = 0; i < kTimes; ++i) part();
    std::printf("    %s: %ld us\n", name,
                static_cast<long>((ThreadTime() - before).count() / 1000 / kTimes));
  };
  print("list of processes", [&] { (void)keeper.Processes(); });
  print("their time and memory", [&] { (void)tony::os::ReadResourceUsage(processes); });
  print("their proportional memory", [&] { (void)tony::os::ProportionalBytes(processes); });
  print("descriptors", [&] { (void)tony::os::FindOpenFiles(processes); });
  print("connections", [&] { (void)tony::os::AskForTraffic(sockets); });
  print("the host's adapters", [&] { (void)tony::os::ReadHostTraffic(); });
  print("choice of control groups", [&] { group.Choose(processes.front(), ::getpid()); });
  print("control groups", [&] { (void)group.Read(); });
}

/// Returns the share of a processor; 1 if the program does not run.
double Measure(const Program& program, int seconds) {
  auto keeper = tony::os::Keeper::Start(absl::StrCat("sampling-cost-", ::getpid()));
  if (!keeper.ok() || !Start(**keeper, program)) return 1;
  PrintParts(**keeper);
  UsageSampler sampler(**keeper);
  sampler.Reset("");
  (void)sampler.Sample({});
  std::vector<Duration> costs;
  for (int sample = 0; sample < seconds; ++sample) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const Duration before = ThreadTime();
    (void)sampler.Sample({});
    costs.push_back(ThreadTime() - before);
  }
  Duration sum{0};
  for (const Duration cost : costs) sum += cost;
  const auto micros = [](Duration time) { return static_cast<long>(time.count() / 1000); };
  std::sort(costs.begin(), costs.end());
  const double share = static_cast<double>(sum.count()) / 1e9 / seconds;
  std::printf("%s: the median sample %ld us, all %.3f %% of a processor\n", program.name,
              micros(costs[costs.size() / 2]), share * 100);
  return share;
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 60;
  bool kept = true;
  for (const Program& program : kPrograms) kept = Measure(program, seconds) <= kMostShare && kept;
  if (!kept) std::printf("more than %.1f %% of a processor\n", kMostShare * 100);
  return kept ? 0 : 1;
}
