// round_trip: prints the undisturbed round trip of a cache line in nanoseconds, from the first
// processor that this process may use to the farthest one.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kBatches = 50;
constexpr int kTurns = 500;

alignas(64) std::atomic<int> ping{0};
alignas(64) std::atomic<int> pong{0};

void StayOn(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

void WaitFor(const std::atomic<int>& turn, int wanted) {
  while (turn.load(std::memory_order_acquire) != wanted) __builtin_ia32_pause();
}

double Measure(int here, int there) {
  ping = pong = 0;
  std::thread other([there] {
    StayOn(there);
    for (int turn = 1; turn <= kBatches * kTurns; ++turn) {
      WaitFor(ping, turn);
      pong.store(turn, std::memory_order_release);
    }
  });
  StayOn(here);
  std::chrono::duration<double, std::nano> least = std::chrono::seconds(1);
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int turn = batch * kTurns + 1; turn <= (batch + 1) * kTurns; ++turn) {
      ping.store(turn, std::memory_order_release);
      WaitFor(pong, turn);
    }
    least = std::min<decltype(least)>(least, std::chrono::steady_clock::now() - begin);
  }
  other.join();
  return least.count() / kTurns;
}

}  // namespace

int main() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return 1;
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &mine)) processors.push_back(processor);
  }
  double longest = 0;
  for (size_t i = 1; i < processors.size(); ++i) {
    longest = std::max(longest, Measure(processors[0], processors[i]));
  }
  std::printf("%.0f\n", longest);
  return 0;
}
