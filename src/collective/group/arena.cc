// A first-fit allocator: takes the first free range that is large enough, and merges a freed range
// with its free neighbours.
#include "collective/group/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace tony::collective {
namespace {

/// The unit of allocation: two tensors never share a cache line.
constexpr size_t kLine = 64;

constexpr size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

constexpr size_t RoundDown(size_t value, size_t unit) { return value / unit * unit; }

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Arena::Arena(std::shared_ptr<void> memory, std::byte* begin, size_t bytes)
    : memory_(std::move(memory)), begin_(begin), bytes_(bytes) {
  if (bytes > 0) free_[0] = bytes;
}

void* Arena::Allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    const auto [offset, room] = *place;
    if (room < bytes) continue;  // before rounding up, which then cannot overflow
    const size_t size = RoundUp(std::max<size_t>(bytes, 1), kLine);
    if (room < size) continue;
    free_.erase(place);
    if (room > size) free_[offset + size] = room - size;
    used_[offset] = size;
    return begin_ + offset;
  }
  return nullptr;
}

bool Arena::Free(void* data) {
  if (data == nullptr) return true;
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(static_cast<size_t>(static_cast<std::byte*>(data) - begin_));
  if (used == used_.end()) return false;
  const auto [own, own_size] = *used;
  used_.erase(used);
  // Merges the buffer with the free ranges directly behind and before it.
  size_t begin = own;
  size_t end = own + own_size;
  if (const auto after = free_.find(end); after != free_.end()) {
    end += after->second;
    free_.erase(after);
  }
  const auto behind = free_.lower_bound(begin);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == begin) begin = free_.extract(before).key();
  }
  free_[begin] = end - begin;
  // Gives back the pages of this buffer, except those on which a neighbour still has data. Pages of
  // the merged neighbours were given back before.
  const size_t page = PageBytes();
  const size_t from = std::max(RoundUp(begin, page), RoundDown(own, page));
  const size_t until = std::min(RoundDown(end, page), RoundUp(own + own_size, page));
  // If the kernel refuses, the memory stays allocated for the next buffer, so the error does not
  // matter.
  if (from < until) madvise(begin_ + from, until - from, MADV_REMOVE);
  return true;
}

std::optional<size_t> Arena::OffsetOf(const void* data, size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(data);
  if (std::less<>()(at, begin_) || !std::less<>()(at, begin_ + bytes_)) return std::nullopt;
  const auto offset = static_cast<size_t>(at - begin_);
  if (bytes > bytes_ - offset) return std::nullopt;
  return offset;
}

}  // namespace tony::collective
