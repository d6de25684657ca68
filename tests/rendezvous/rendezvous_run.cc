// Threads for the ranks, the caller's for the server.
#include "tests/rendezvous/rendezvous_run.h"

#include <time.h>

#include <atomic>
#include <map>
#include <thread>

namespace tony::rendezvous {
namespace {

std::chrono::microseconds ThreadCpu() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::microseconds(used.tv_nsec / 1000);
}

}  // namespace

RendezvousRun RunRendezvous(LoopDriver& driver, const std::vector<core::Slot>& plan,
                            const ClientOptions& options,
                            const std::function<RankRole(const core::Slot&)>& role_of) {
  RendezvousRun run;
  run.results.resize(plan.size());
  Mesh mesh(plan);
  std::vector<GlooWorker> workers;
  for (const core::Slot& slot : plan) {
    const RankRole role = role_of(slot);
    ClientOptions own = options;
    own.port = role.port;
    if (role.comes) workers.emplace_back(slot, own, mesh, role.reads, role.least_bytes);
  }
  std::atomic<size_t> left = workers.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto cpu_begin = ThreadCpu();
  std::vector<std::thread> threads;
  for (GlooWorker& worker : workers) {
    threads.emplace_back([&] {
      run.results[static_cast<size_t>(worker.slot().rank)] = worker.Initialize();
      if (--left == 0) driver.Changed();
    });
  }
  // They have deadlines of their own, for which the servers have to run.
  while (left > 0) (void)driver.Await([&left] { return left == 0; });
  run.time = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  run.server_cpu = ThreadCpu() - cpu_begin;
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

}  // namespace tony::rendezvous
