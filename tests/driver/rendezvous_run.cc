// Threads for the ranks, the caller's for the server.
#include "tests/driver/rendezvous_run.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

namespace tony::driver {
namespace {

std::chrono::microseconds ThreadCpu() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::microseconds(used.tv_nsec / 1000);
}

}  // namespace

RendezvousRun RunRendezvous(LoopDriver& driver, const std::vector<core::Slot>& plan,
                            const ClientOptions& options, const std::vector<int>& ports,
                            const std::vector<int>& absent) {
  RendezvousRun run;
  run.results.resize(plan.size());
  Mesh mesh(plan);
  std::vector<GlooWorker> workers;
  workers.reserve(plan.size());
  for (const core::Slot& slot : plan) {
    ClientOptions own = options;
    own.port = ports[static_cast<size_t>(slot.rank) % ports.size()];
    workers.emplace_back(slot, own, mesh);
  }
  std::atomic<size_t> left = plan.size() - absent.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto cpu_begin = ThreadCpu();
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < plan.size(); ++rank) {
    if (std::find(absent.begin(), absent.end(), static_cast<int>(rank)) != absent.end()) continue;
    threads.emplace_back([&, rank] {
      run.results[rank] = workers[rank].Initialize();
      if (--left == 0) driver.Changed();
    });
  }
  const bool all_done = driver.Await([&left] { return left == 0; });
  run.time = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  run.server_cpu = ThreadCpu() - cpu_begin;
  if (!all_done) run.results[0] = absl::DeadlineExceededError("the ranks did not end in time");
  // Clients that are late end with their own deadlines, for which the server has to run.
  while (left > 0) (void)driver.Await([&left] { return left == 0; });
  for (std::thread& thread : threads) thread.join();
  for (const GlooWorker& worker : workers) run.counts.Add(worker.counts());
  return run;
}

RequestCounts ExpectedRequests(const std::vector<core::Slot>& plan) {
  std::map<std::string, uint64_t> contexts;
  for (const core::Slot& slot : plan) {
    for (const GlooContext& context : ContextsOf(slot)) {
      contexts[context.scope] = static_cast<uint64_t>(context.size);
    }
  }
  RequestCounts expected;
  for (const auto& [scope, ranks] : contexts) {
    expected.gets += ranks * (ranks - 1) * 5 / 2;
    expected.puts += 2 * ranks;
    expected.deletes += ranks;
  }
  return expected;
}

}  // namespace tony::driver
