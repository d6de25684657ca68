// Allocates from the arena and falls back to posix_memalign(). Each buffer keeps its arena alive,
// so a tensor may outlive the engine.
#include "collective/api/buffers.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace tony::collective {

bool Buffers::forked() const {
  const pid_t owner = owner_.load();
  return owner != 0 && owner != getpid();
}

Result<void*> Buffers::Allocate(size_t bytes, std::shared_ptr<Arena> arena) {
  if (forked()) {
    return Status(Code::kFailedPrecondition,
                  "this process was forked from one that has such buffers, and cannot have any "
                  "itself: start it as a new program (multiprocessing: 'spawn')");
  }
  owner_ = getpid();
  void* data = arena == nullptr ? nullptr : arena->Allocate(bytes);
  if (data == nullptr) {
    arena.reset();
    if (posix_memalign(&data, kAlignment, bytes == 0 ? 1 : bytes) != 0) {
      return Status(Code::kResourceExhausted,
                    "there is no memory for a buffer of " + std::to_string(bytes) + " bytes");
    }
  }
  const std::lock_guard lock(mutex_);
  buffers_[data] = std::move(arena);
  return data;
}

Status Buffers::Free(void* data) {
  // A forked child's program also frees the buffers that it knows from its parent. They stay the
  // parent's, and a thread that held mutex_ at the time of fork() does not exist in the child.
  if (data == nullptr || forked()) return {};
  std::shared_ptr<Arena> arena;
  {
    const std::lock_guard lock(mutex_);
    auto found = buffers_.extract(data);
    if (found.empty()) {
      return {Code::kInvalidArgument, "this is no buffer of ours, or it was freed already"};
    }
    arena = std::move(found.mapped());
  }
  if (arena == nullptr) {
    std::free(data);
  } else {
    arena->Free(data);
  }
  return {};
}

}  // namespace tony::collective
