// The common part of the programs of bench/allreduce: sizes, batches, and rank 0's output.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace bench {

/// Parses "4,4096,…" of the command line.
inline std::vector<size_t> Sizes(const char* list) {
  std::vector<size_t> sizes;
  for (char* at = const_cast<char*>(list); *at != '\0';) {
    sizes.push_back(std::strtoull(at, &at, 10));
    if (*at == ',') ++at;
  }
  return sizes;
}

/// Ends the program with the message of a tony::collective::Status that is not ok. A template,
/// because the peers' programs do not have that class.
template <typename Status>
void Ensure(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::_Exit(1);
}

/// Binds each rank to its own processor, as mpirun does, if there are enough of them.
inline void Bind(int rank, int ranks) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < ranks) return;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || rank-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    sched_setaffinity(0, sizeof(own), &own);
    return;
  }
}

/// The number of consecutive calls whose time a clock can measure.
inline int CallsPerBatch(size_t bytes, int ranks) {
  // Ranks that wait for each other's processor take a hundred times as long.
  const bool is_crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);
  if (bytes <= size_t{4} << 10) return is_crowded ? 20 : 500;
  if (bytes <= size_t{64} << 10) return is_crowded ? 10 : 100;
  if (bytes <= size_t{1} << 20) return is_crowded ? 3 : 10;
  return bytes <= size_t{16} << 20 ? 2 : 1;
}

/// Prints "BYTES SECONDS SECONDS…": a call's time in each batch.
inline void Measure(int rank, int ranks, size_t bytes, int batches,
                    const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const int calls = CallsPerBatch(bytes, ranks);
  for (int i = 0; i < std::max(2, calls / 10); ++i) call();
  std::vector<double> seconds;
  for (int batch = 0; batch < batches; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
  }
  if (rank != 0) return;
  std::printf("%zu", bytes);
  for (const double one : seconds) std::printf(" %.9f", one);
  std::printf("\n");
  std::fflush(stdout);
}

/// Ends the program unless each sum of ones is the number of ranks.
inline void Check(const float* sums, size_t elements, int ranks) {
  for (size_t i = 0; i < elements; ++i) {
    if (sums[i] == static_cast<float>(ranks)) continue;
    std::fprintf(stderr, "a sum of %d ones is %g\n", ranks, static_cast<double>(sums[i]));
    std::_Exit(1);
  }
}

}  // namespace bench
