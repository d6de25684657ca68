// A batch of copies, as it is passed to the GPU's kernel.
//
// Compiled for the host and for the GPU.
#pragma once

#include <stdint.h>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

/// The most copies that fit, with the other members, into a kernel's argument of 4 KiB.
inline constexpr unsigned kCopiesPerBatch = 160;

/// The kernel's argument. The launch itself carries it, so nothing has to be copied to the GPU
/// first.
struct CopyBatch {
  const void* from[kCopiesPerBatch];
  void* to[kCopiesPerBatch];
  uint64_t bytes[kCopiesPerBatch];
  double factor;    ///< factor for each element; 1: the bits are copied unchanged
  unsigned copies;  ///< number of entries in use
  DataType type;
};
static_assert(sizeof(CopyBatch) <= 4096);

/// The kernel's name in its module, its threads per block, and the most blocks for one copy.
inline constexpr char kCopyKernel[] = "tony_copy_batch";
inline constexpr unsigned kCopyThreads = 256;
inline constexpr unsigned kCopyBlocks = 64;

}  // namespace tony::collective
