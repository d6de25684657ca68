// Where a rank joins, and barriers. Operations on data are in host_reduce.cc and host_exchange.cc.
#include "collective/host_group.h"

#include <string>
#include <utility>

namespace tony::collective {

Result<std::unique_ptr<SharedMemory>> HostGroup::CreateMemory(int ranks) {
  return SharedMemory::Create(HostMemory::BytesFor(ranks));
}

Result<std::unique_ptr<HostGroup>> HostGroup::Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                   int ranks) {
  if (rank < 0 || rank >= ranks || memory->size() < HostMemory::BytesFor(ranks)) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) +
                                              " has no place in this memory");
  }
  return std::unique_ptr<HostGroup>(new HostGroup(std::move(memory), rank, ranks));
}

HostGroup::HostGroup(std::shared_ptr<SharedMemory> memory, int rank, int ranks)
    : memory_(std::move(memory)),
      pipe_(*reinterpret_cast<HostMemory*>(memory_->data()), rank, ranks),
      kernels_(BestKernels()) {}

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
