// Where a rank joins, and barriers. Operations on data are in files of their own.
#include "collective/host/host_group.h"

#include <unistd.h>

#include <numeric>
#include <string>
#include <utility>

namespace tony::collective {

Result<std::unique_ptr<SharedMemory>> HostGroup::CreateMemory(int ranks) {
  auto memory =
      SharedMemory::Create(HostMemory::BytesFor(ranks), HostMemory::ArenasBytesFor(ranks));
  if (memory.ok()) {
    reinterpret_cast<HostMemory*>((*memory)->data())->line.ranks = static_cast<uint32_t>(ranks);
  }
  return memory;
}

Result<std::unique_ptr<HostGroup>> HostGroup::Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                   int ranks) {
  const auto made_for = [&] {
    return reinterpret_cast<HostMemory*>(memory->data())->line.ranks.load();
  };
  if (rank < 0 || rank >= ranks || memory->size() < HostMemory::BytesFor(ranks) ||
      made_for() != static_cast<uint32_t>(ranks)) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) +
                                              " has no place in this memory");
  }
  auto& host = *reinterpret_cast<HostMemory*>(memory->data());
  Place place = {.memory = memory, .host = host, .rank = rank};
  place.names.resize(static_cast<size_t>(ranks));
  std::iota(place.names.begin(), place.names.end(), 0);
  const size_t windows = HostMemory::BytesFor(ranks);
  if (memory->size() >= windows + HostMemory::ArenasBytesFor(ranks)) {
    for (int other = 0; other < ranks; ++other) {
      place.arenas.push_back(memory->data() + windows + HostMemory::ArenasBytesFor(other));
    }
    std::byte* const own = place.arenas[static_cast<size_t>(rank)];
    place.arena = std::make_shared<Arena>(memory, own, kArenaBytes);
    if (memory->Claim(static_cast<size_t>(rank)).ok()) {
      host.Of(rank).line.process = static_cast<uint32_t>(getpid());
    }
  }
  return std::unique_ptr<HostGroup>(new HostGroup(std::move(place)));
}

HostGroup::HostGroup(Place place)
    : memory_(std::move(place.memory)),
      pipe_(place.host, place.rank, all(), place.names),
      kernels_(BestKernels()),
      names_(std::move(place.names)),
      arenas_(std::move(place.arenas)),
      arena_(std::move(place.arena)),
      offers_(names_.size()),
      copies_(names_.size()) {}

HostGroup::~HostGroup() {
  for (size_t rank = 0; rank < arenas_.size(); ++rank) {
    const int name = names_[rank];
    const uint32_t process = all().Of(name).line.process.load();
    if (process == 0 || process == static_cast<uint32_t>(getpid())) continue;
    if (memory_->IsClaimed(static_cast<size_t>(name))) continue;
    memory_->Discard(static_cast<size_t>(arenas_[rank] - memory_->data()), kArenaBytes);
  }
}

Status HostGroup::CheckList(const char* what, size_t size) const {
  if (size == static_cast<size_t>(ranks())) return {};
  return {Code::kInvalidArgument, std::string(what) + " are of " + std::to_string(size) +
                                      " ranks, and the group has " + std::to_string(ranks())};
}

Status HostGroup::Barrier(Deadline deadline) {
  if (!failure_.ok()) return failure_;
  pipe_.Publish(&RankLine::barrier, ++barriers_);
  return Keep(pipe_.UntilOthers(&RankLine::barrier, barriers_, deadline));
}

}  // namespace tony::collective
