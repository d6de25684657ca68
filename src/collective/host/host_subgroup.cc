// Subgroups need no new descriptor: their counters and windows lie in the arena of their first
// member, which all ranks of the host have mapped already.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "collective/host/host_group.h"

namespace tony::collective {
namespace {

// The number that each rank tells all others. From kReady on it is the offset of the memory in the
// first member's arena (0 from any other rank); below it, the reason why there is no memory.
constexpr int64_t kReady = 0;
constexpr int64_t kNoMemory = -1;
constexpr int64_t kNoArena = -2;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Result<std::byte*> HostGroup::AllocateFor(size_t ranks) {
  const size_t bytes = HostMemory::BytesFor(static_cast<int>(ranks));
  // The arena aligns to less than kLineBytes, so there is room to round up.
  auto* const block = static_cast<std::byte*>(arena_->Allocate(bytes + kLineBytes));
  const Status none(Code::kResourceExhausted,
                    "no " + std::to_string(bytes) + " bytes of shared memory");
  if (block == nullptr) return none;
  // All pages are taken now. A page that is missing later would be a SIGBUS in the middle of an
  // operation, where it could not be handled; here it is an error.
  const int error = posix_fallocate(memory_->descriptor(), block - memory_->data(),
                                    static_cast<off_t>(bytes + kLineBytes));
  if (error != 0) {
    arena_->Free(block);
    return Status(none.code(), none.message() + ": " + std::strerror(error));
  }
  return block;
}

Result<std::unique_ptr<Group>> HostGroup::Subgroup(const std::vector<int>& members,
                                                   Deadline deadline) {
  const auto count = static_cast<int>(members.size());
  const auto found = std::find(members.begin(), members.end(), rank());
  const bool is_member = found != members.end();
  const bool is_first = members.front() == rank();
  int64_t own = is_member && arena_ == nullptr ? kNoArena : kReady;
  std::byte* block = nullptr;
  if (is_first && arena_ != nullptr) {
    auto allocated = AllocateFor(members.size());
    if (allocated.ok()) {
      block = *allocated;
      const auto begin = RoundUp(static_cast<size_t>(block - ArenaOf(rank())), kLineBytes);
      reinterpret_cast<HostMemory*>(ArenaOf(rank()) + begin)->Reset(count);
      own = static_cast<int64_t>(begin);
    } else {
      own = kNoMemory;
    }
  }
  // All ranks learn the answers of all, also those that are no members. So all come to the same
  // result, and this group goes on after a refusal.
  std::vector<int64_t> said(static_cast<size_t>(ranks()));
  Status told =
      AllGather(&own, said.data(), std::vector<size_t>(said.size(), sizeof(own)), deadline);
  const auto refused =
      std::find_if(said.begin(), said.end(), [](int64_t one) { return one < kReady; });
  if (!told.ok() || refused != said.end()) {
    // After a failed exchange others may take the subgroup as made, so the block stays.
    if (block != nullptr && told.ok()) arena_->Free(block);
    if (!told.ok()) return told;
    const std::string rank =
        "rank " + std::to_string(names_[static_cast<size_t>(refused - said.begin())]);
    if (*refused == kNoArena) {
      return Status(Code::kFailedPrecondition,
                    rank +
                        " has no addresses for the memory that a process set shares: its limit "
                        "of addresses or of a file's size (ulimit -v, -f) is too low");
    }
    return Status(Code::kResourceExhausted, rank + " has no shared memory for a process set of " +
                                                std::to_string(count) + " ranks: it takes " +
                                                std::to_string(HostMemory::BytesFor(count) >> 20) +
                                                " MiB");
  }
  if (!is_member) return std::unique_ptr<Group>();
  const auto first = static_cast<size_t>(members.front());
  Place place = {.memory = memory_,
                 .host = *reinterpret_cast<HostMemory*>(arenas_[first] + said[first]),
                 .rank = static_cast<int>(found - members.begin()),
                 .arena = arena_};
  for (const int member : members) {
    place.names.push_back(names_[static_cast<size_t>(member)]);
    place.arenas.push_back(ArenaOf(member));
  }
  std::unique_ptr<HostGroup> group(new HostGroup(std::move(place)));
  group->block_ = block;
  return std::unique_ptr<Group>(std::move(group));
}

void HostGroup::Retire() {
  if (block_ != nullptr) arena_->Free(block_);
  block_ = nullptr;
}

}  // namespace tony::collective
