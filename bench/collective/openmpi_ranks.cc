// openmpi_ranks BATCHES SIZES in-place|apart: MPI_Allreduce; mpirun starts the ranks.
#include <mpi.h>

#include <cstring>

#include "bench/collective/ranks.h"

int main(int count, char** words) {
  if (count != 4) return 2;
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool in_place = std::strcmp(words[3], "in-place") == 0;
  for (const size_t bytes : bench::Sizes(words[2])) {
    std::vector<float> in(bytes / sizeof(float), 1.0F);
    std::vector<float> out(in_place ? 0 : in.size());
    std::vector<float>& result = in_place ? in : out;
    const auto call = [&] {
      MPI_Allreduce(in_place ? MPI_IN_PLACE : in.data(), result.data(), static_cast<int>(in.size()),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    call();
    bench::Check(result.data(), result.size(), ranks);
    if (in_place) std::fill(in.begin(), in.end(), 0.0F);
    bench::Measure(rank, ranks, bytes, std::atoi(words[1]), call);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
