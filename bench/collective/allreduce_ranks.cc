// allreduce_ranks RANKS BATCHES SIZES in-place|apart|shared: measures the host group's allreduce
// among processes.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "bench/collective/ranks.h"
#include "collective/host/host_group.h"

using namespace tony::collective;

int main(int count, char** words) {
  if (count != 5) return 2;
  const int ranks = std::atoi(words[1]);
  auto memory = HostGroup::CreateMemory(ranks);
  bench::Ensure(memory.status());
  int rank = 0;
  while (rank + 1 < ranks && fork() == 0) {
    // The child forks the next rank, so each process has at most one child.
    ++rank;
  }
  bench::Bind(rank, ranks);
  auto group = HostGroup::Join(std::shared_ptr<SharedMemory>(std::move(*memory)), rank, ranks);
  bench::Ensure(group.status());
  const bool shared = std::strcmp(words[4], "shared") == 0;
  const bool in_place = shared || std::strcmp(words[4], "in-place") == 0;
  const auto arena = (*group)->arena();
  const auto patience = std::chrono::seconds(60);
  for (const size_t bytes : bench::Sizes(words[3])) {
    const size_t elements = bytes / sizeof(float);
    std::vector<float> own(shared ? 0 : elements);
    std::vector<float> apart(in_place ? 0 : elements);
    void* const allocated = shared ? arena->Allocate(bytes) : nullptr;
    float* const in = shared ? static_cast<float*>(allocated) : own.data();
    float* const out = in_place ? in : apart.data();
    const auto call = [&] {
      bench::Ensure((*group)->AllReduce(in, out, elements, DataType::kFloat32, ReduceOp::kSum,
                                        After(patience)));
    };
    std::fill(in, in + elements, 1.0F);
    call();
    bench::Check(out, elements, ranks);
    if (in_place) std::fill(in, in + elements, 0.0F);  // sums of sums would overflow
    bench::Measure(rank, ranks, bytes, std::atoi(words[2]), call);
    bench::Ensure((*group)->Barrier(After(patience)));
    if (shared) arena->Free(allocated);
  }
  wait(nullptr);
  return 0;
}
