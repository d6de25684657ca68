// limit_ranks RANKS BATCHES SIZES: a hand-written sum of vectors in shared memory, in place. It
// measures what the machine's memory can do.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "bench/collective/ranks.h"

namespace {

struct Meeting {
  alignas(128) std::atomic<int> count;
  alignas(128) std::atomic<int> generation;
};

void Meet(Meeting& meeting, int ranks) {
  const int generation = meeting.generation.load(std::memory_order_acquire);
  if (meeting.count.fetch_add(1) == ranks - 1) {
    meeting.count.store(0);
    meeting.generation.store(generation + 1, std::memory_order_release);
    return;
  }
  for (int turn = 0; meeting.generation.load(std::memory_order_acquire) == generation; ++turn) {
    if (turn < 2000) continue;
    sched_yield();
  }
}

void* Share(size_t bytes) {
  void* const shared =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) return shared;
  std::perror("mmap");
  std::_Exit(1);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const int ranks = std::atoi(words[1]);
  const std::vector<size_t> sizes = bench::Sizes(words[3]);
  const size_t most = *std::max_element(sizes.begin(), sizes.end());
  auto& meeting = *static_cast<Meeting*>(Share(sizeof(Meeting)));
  std::vector<float*> vectors;
  for (int i = 0; i < ranks; ++i) vectors.push_back(static_cast<float*>(Share(most)));
  int rank = 0;
  while (rank + 1 < ranks && fork() == 0) ++rank;
  bench::Bind(rank, ranks);
  std::memset(vectors[static_cast<size_t>(rank)], 0, most);
  constexpr size_t kBlock = 4096;
  alignas(64) static float sum[kBlock];
  for (const size_t bytes : sizes) {
    const size_t elements = bytes / sizeof(float);
    const auto edge = [&](int part) {
      return part == ranks
                 ? elements
                 : elements / 16 * static_cast<size_t>(part) / static_cast<size_t>(ranks) * 16;
    };
    bench::Measure(rank, ranks, bytes, std::atoi(words[2]), [&] {
      Meet(meeting, ranks);
      for (size_t at = edge(rank); at < edge(rank + 1); at += kBlock) {
        const size_t size = std::min(kBlock, edge(rank + 1) - at);
        for (size_t i = 0; i < size; ++i) sum[i] = vectors[0][at + i] + vectors[1][at + i];
        for (size_t r = 2; r < vectors.size(); ++r) {
          for (size_t i = 0; i < size; ++i) sum[i] += vectors[r][at + i];
        }
        for (float* const vector : vectors) std::memcpy(vector + at, sum, size * sizeof(float));
      }
      Meet(meeting, ranks);
    });
  }
  wait(nullptr);
  return 0;
}
