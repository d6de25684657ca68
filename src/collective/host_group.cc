// Where a rank joins, and barriers. Operations on data are in files of their own.
#include "collective/host_group.h"

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
  return std::unique_ptr<HostGroup>(new HostGroup(std::move(memory), rank, ranks));
}

HostGroup::HostGroup(std::shared_ptr<SharedMemory> memory, int rank, int ranks)
    : memory_(std::move(memory)),
      pipe_(*reinterpret_cast<HostMemory*>(memory_->data()), rank, ranks),
      kernels_(BestKernels()),
      offers_(static_cast<size_t>(ranks)),
      copies_(offers_.size()) {
  const size_t arenas = HostMemory::BytesFor(ranks);
  if (memory_->size() < arenas + HostMemory::ArenasBytesFor(ranks)) return;
  arenas_ = memory_->data() + arenas;
  arena_ = std::make_shared<Arena>(memory_, ArenaOf(rank), kArenaBytes);
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
