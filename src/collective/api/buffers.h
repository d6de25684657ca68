// Memory for tensors, which other ranks can reach where there are some on this host.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "collective/base/status.h"
#include "collective/group/arena.h"

namespace tony::collective {

/// Gives it out, and knows how each piece is taken back, also when the ranks it was shared with are
/// gone. Thread safe, and also after fork(): in a child it gives nothing, and takes nothing back of
/// what is its parent's.
class Buffers {
 public:
  /// At least this alignment, in bytes.
  static constexpr size_t kAlignment = 64;

  /// `arena`: where it is from, if there is room; null: the program's own memory.
  /// ResourceExhausted: there is none. FailedPrecondition: in a child.
  Result<void*> Allocate(size_t bytes, std::shared_ptr<Arena> arena);
  /// What Allocate() has returned; null is nothing.
  /// InvalidArgument: it is not one of ours.
  Status Free(void* data);

 private:
  /// A child's memory is a copy, but for what is shared.
  bool forked() const;

  std::atomic<pid_t> owner_ = 0;  ///< who has allocated; 0: nobody
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<Arena>> buffers_;  ///< null: of the program's memory
};

}  // namespace tony::collective
