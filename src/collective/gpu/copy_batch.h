// Many copies that a GPU does at once: what is handed to its kernel.
//
// Compiled for the host and for the GPU.
#pragma once

#include <stdint.h>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

/// Together with the rest they are what a kernel may take as its argument: 4 KiB.
inline constexpr unsigned kCopiesPerBatch = 160;

/// A kernel's argument. No memory is copied to the GPU before it can begin.
struct CopyBatch {
  const void* from[kCopiesPerBatch];
  void* to[kCopiesPerBatch];
  uint64_t bytes[kCopiesPerBatch];
  double factor;    ///< of each element; 1: the bits stay
  unsigned copies;  ///< used of the above
  DataType type;
};
static_assert(sizeof(CopyBatch) <= 4096);

/// The kernel's name in its module, threads of a block, and at most so many blocks for one copy.
inline constexpr char kCopyKernel[] = "tony_copy_batch";
inline constexpr unsigned kCopyThreads = 256;
inline constexpr unsigned kCopyBlocks = 64;

}  // namespace tony::collective
