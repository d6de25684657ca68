// The kernel for a batch of copies: each block index in y is one copy, and the blocks in x share
// it.
#include "collective/gpu/copy_loops.h"

extern "C" __global__ void __launch_bounds__(tony::collective::kCopyThreads)
    tony_copy_batch(const __grid_constant__ tony::collective::CopyBatch batch) {
  const uint64_t begin = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  tony::collective::CopyPart(batch, blockIdx.y, begin, step);
}
