// Joining, leaving and the barrier. Operations on data are in host_reduce.cc, host_direct.cc,
// host_exchange.cc and host_all_to_all.cc; subgroups are in host_subgroup.cc.
#include "collective/host/host_group.h"

#include <sys/random.h>
#include <unistd.h>

#include <numeric>
#include <string>
#include <utility>

namespace tony::collective {
namespace {

/// A number that tells this process from others; never 0. The process id alone may be the same in
/// another container, and the random number alone is the same in a forked process.
uint32_t ProcessNumber() {
  static const uint32_t random = [] {
    uint32_t bytes = 0;  // without random numbers, the process id alone
    return getrandom(&bytes, sizeof(bytes), 0) == sizeof(bytes) ? bytes : 0;
  }();
  const uint32_t number = random ^ static_cast<uint32_t>(getpid());
  return number == 0 ? 1 : number;
}

}  // namespace

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
    // `process` is set only behind a successful claim. A rank without a lock is never taken for
    // ended, so its buffers are never discarded under it.
    if (memory->Claim(static_cast<size_t>(rank)).ok()) {
      host.Of(rank).line.process = ProcessNumber();
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

// No goodbye is needed to find out who has ended: the kernel drops a process's lock on its arena,
// whatever ends it.
HostGroup::~HostGroup() {
  if (OthersGoOn()) return;
  for (size_t rank = 0; rank < arenas_.size(); ++rank) {
    if (HasEnded(names_[rank])) {
      memory_->Discard(static_cast<size_t>(arenas_[rank] - memory_->data()), kArenaBytes);
    }
  }
}

// A process does not see its own locks, so the process number tells its own claims apart. That
// matters when several ranks are threads of one process.
bool HostGroup::HasEnded(int name) const {
  const uint32_t process = all().Of(name).line.process.load();
  return process != 0 && process != ProcessNumber() &&
         !memory_->IsClaimed(static_cast<size_t>(name));
}

bool HostGroup::OthersGoOn() const {
  const int own = names_[static_cast<size_t>(rank())];
  for (int name = 0; name < static_cast<int>(all().line.ranks.load()); ++name) {
    if (name != own && all().Of(name).line.left.load() == 0 && !HasEnded(name)) return true;
  }
  return false;
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
