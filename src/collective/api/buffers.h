// Allocates memory for tensors; if there are other ranks on this host, they can reach it, too.
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

/// Allocates buffers and remembers how to free each of them, also when the ranks that shared it are
/// gone. Thread safe, and also after fork(): in a child it allocates nothing, and frees nothing
/// that belongs to the parent.
class Buffers {
 public:
  /// Least alignment of a buffer, in bytes.
  static constexpr size_t kAlignment = 64;

  /// Allocates `bytes` bytes. `arena`: the source, as long as it has room; null: the program's own
  /// memory. ResourceExhausted – there is no memory. FailedPrecondition – the process is a forked
  /// child.
  Result<void*> Allocate(size_t bytes, std::shared_ptr<Arena> arena);
  /// Frees a buffer from Allocate(); null is allowed. InvalidArgument – Allocate() has not returned
  /// `data`.
  Status Free(void* data);

 private:
  /// Whether this process is a forked child of the one that has allocated. The two share the
  /// arena's memory; the child has a copy of all other memory.
  bool forked() const;

  std::atomic<pid_t> owner_ = 0;  ///< the process that has allocated; 0: no process has yet
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<Arena>> buffers_;  ///< by address; null: from malloc()
};

}  // namespace tony::collective
