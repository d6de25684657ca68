// The kernel that does a batch of copies: blocks in y are copies, those in x share one.
#include "collective/gpu/copy_loops.h"

extern "C" __global__ void __launch_bounds__(tony::collective::kCopyThreads)
    tony_copy_batch(const __grid_constant__ tony::collective::CopyBatch batch) {
  const uint64_t begin = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  tony::collective::CopyPart(batch, blockIdx.y, begin, step);
}
