// Allreduce, broadcast, barrier, subgroups and failures. The operations in which each rank has data
// of its own size (all-gather, reduce-scatter, all-to-all) are in hosts_exchange.cc.
#include "collective/hosts/hosts_group.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "collective/net/net_reduction.h"

namespace tony::collective {
namespace {

/// How long OfHost() waits for the mesh to name the rank that has gone, when this host's memory
/// says that one has.
constexpr auto kWordsTime = std::chrono::seconds(1);

const std::vector<int>& HostOf(const HostTable& hosts, int rank) {
  return *std::find_if(hosts.begin(), hosts.end(), [&](const std::vector<int>& host) {
    return std::find(host.begin(), host.end(), rank) != host.end();
  });
}

int IndexIn(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

int Smallest(const HostTable& hosts) {
  size_t least = hosts[0].size();
  for (const std::vector<int>& host : hosts) least = std::min(least, host.size());
  return static_cast<int>(least);
}

std::vector<int> AllOf(const HostTable& hosts) {
  std::vector<int> ranks;
  for (const std::vector<int>& host : hosts) ranks.insert(ranks.end(), host.begin(), host.end());
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// The hosts with only those of their ranks that are in `ranks`, in the order of their first ranks.
/// Hosts without such a rank are left out.
HostTable Only(const std::vector<int>& ranks, const HostTable& hosts) {
  HostTable left;
  for (const std::vector<int>& host : hosts) {
    std::vector<int> some;
    std::set_intersection(host.begin(), host.end(), ranks.begin(), ranks.end(),
                          std::back_inserter(some));
    if (!some.empty()) left.push_back(std::move(some));
  }
  std::sort(left.begin(), left.end());
  return left;
}

/// The ranks of `rank`'s rail, by host. A rank that is on no rail gets itself alone.
std::vector<int> RailOf(const HostTable& hosts, int rank) {
  const int place = IndexIn(HostOf(hosts, rank), rank);
  if (place >= Smallest(hosts)) return {rank};
  std::vector<int> rail;
  for (const std::vector<int>& host : hosts) rail.push_back(host[static_cast<size_t>(place)]);
  return rail;
}

}  // namespace

HostsGroup::HostsGroup(std::shared_ptr<NetMesh> mesh, std::unique_ptr<Group> host,
                       const HostTable& hosts, SwitchPoints points)
    : mesh_(std::move(mesh)),
      host_(std::move(host)),
      points_(points),
      hosts_(hosts),
      locals_(HostOf(hosts, mesh_->rank())),
      neighbours_(locals_),
      local_(IndexIn(locals_, mesh_->rank())),
      rail_count_(Smallest(hosts)),
      all_(mesh_, AllOf(hosts), points),
      rail_(mesh_, RailOf(hosts, mesh_->rank()), points),
      one_host_(hosts.size() == 1 && host_ != nullptr),
      mesh_ranks_(AllOf(hosts)) {
  for (const int rank : mesh_ranks_) {
    const std::vector<int>& its = HostOf(hosts, rank);
    host_of_.push_back(static_cast<int>(&its - hosts.data()));
    local_of_.push_back(IndexIn(its, rank));
  }
  for (const std::vector<int>& host : hosts_) {
    std::vector<int> members;
    for (const int rank : host) members.push_back(IndexIn(mesh_ranks_, rank));
    order_.insert(order_.end(), members.begin(), members.end());
    members_.push_back(std::move(members));
  }
  in_order_ = std::is_sorted(order_.begin(), order_.end());
}

// A short vector takes one rail. SwitchPoints::rails_bytes is the size from which on several rails
// are faster.
std::vector<size_t> HostsGroup::PartsOf(size_t count, size_t element) const {
  const int rails = count * element >= points_.rails_bytes ? rail_count_ : 1;
  std::vector<size_t> edges = EvenEdges(count, element, rails);
  edges.resize(locals_.size() + 1, count);
  return edges;
}

std::byte* HostsGroup::BufferFor(const void* in, void* out, size_t begin, size_t bytes) {
  // Other ranks of this host may still read `in` while this rank writes its part of the result.
  if (in != out) return static_cast<std::byte*>(out) + begin;
  if (part_.size() < bytes) part_.resize(bytes);
  return part_.data();
}

Status HostsGroup::AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                             Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (host_ == nullptr) return OfNet(rail_.AllReduce(in, out, count, type, op, deadline));
  if (one_host_) return OfHost(host_->AllReduce(in, out, count, type, op, deadline));
  const size_t element = SizeOf(type);
  const std::vector<size_t> edges = PartsOf(count, element);
  std::vector<size_t> sizes = SizesOf(edges);
  const auto own = static_cast<size_t>(local_);
  std::byte* part = BufferFor(in, out, edges[own] * element, sizes[own] * element);
  Status done = OfHost(host_->ReduceScatter(in, part, sizes, type, op, deadline));
  if (done.ok() && IsOnRail()) {
    done = OfNet(rail_.AllReduce(part, part, sizes[own], type, op, deadline));
  }
  if (!done.ok()) return done;
  for (size_t& size : sizes) size *= element;
  return OfHost(host_->AllGather(part, out, sizes, deadline));
}

/// A group of one host, as a process set may be, reduces the tensors where they lie: HostGroup
/// needs no fusion buffer. Otherwise Group's version gathers them into one buffer.
Status HostsGroup::AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (!one_host_) return Group::AllReduceFused(fusion, op, deadline);
  return OfHost(host_->AllReduceFused(fusion, op, deadline));
}

/// 1. The root's host broadcasts the vector in its memory.
/// 2. Each rail broadcasts its part from the root's host to the other hosts.
/// 3. The ranks of each other host all-gather the parts.
Status HostsGroup::Broadcast(void* data, size_t bytes, int root, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (root < 0 || root >= ranks()) return all_.Broadcast(data, bytes, root, deadline);
  auto* at = static_cast<std::byte*>(data);
  const int root_local = local_of_[static_cast<size_t>(root)];
  const int root_host = host_of_[static_cast<size_t>(root)];
  const bool on_root_host = root_host == host_of_[static_cast<size_t>(rank())];
  const std::vector<size_t> edges = PartsOf(bytes, 1);
  const std::vector<size_t> sizes = SizesOf(edges);
  Status done;
  if (on_root_host && host_ != nullptr) {
    done = OfHost(host_->Broadcast(at, bytes, root_local, deadline));
  }
  if (done.ok() && IsOnRail()) {
    const auto own = static_cast<size_t>(local_);
    done = OfNet(rail_.Broadcast(at + edges[own], sizes[own], root_host, deadline));
  }
  if (!done.ok() || on_root_host || host_ == nullptr) return done;
  return OfHost(host_->AllGather(at + edges[static_cast<size_t>(local_)], at, sizes, deadline));
}

/// Three barriers: within each host, among the first ranks of all hosts, and within each host again
/// to let the others know.
Status HostsGroup::Barrier(Deadline deadline) {
  if (!failure_.ok()) return failure_;
  Status done;
  if (host_ != nullptr) done = OfHost(host_->Barrier(deadline));
  if (done.ok() && local_ == 0) done = OfNet(rail_.Barrier(deadline));
  if (done.ok() && host_ != nullptr) done = OfHost(host_->Barrier(deadline));
  return done;
}

Result<std::unique_ptr<Group>> HostsGroup::SubgroupOfHost(const std::vector<int>& members,
                                                          Deadline deadline) {
  std::vector<int> places;  // of the members on this host, in locals_
  for (size_t local = 0; local < locals_.size(); ++local) {
    if (std::binary_search(members.begin(), members.end(), locals_[local])) {
      places.push_back(static_cast<int>(local));
    }
  }
  if (host_ == nullptr || places.size() < 2) return std::unique_ptr<Group>();
  return host_->Subgroup(places, deadline);
}

Result<std::unique_ptr<Group>> HostsGroup::Subgroup(const std::vector<int>& members,
                                                    Deadline deadline) {
  if (!failure_.ok()) return failure_;
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(mesh_ranks_[static_cast<size_t>(member)]);
  auto host = SubgroupOfHost(ranks, deadline);
  const Code code = host.status().code();
  const bool refused = code == Code::kResourceExhausted || code == Code::kFailedPrecondition;
  if (!host.ok() && !refused) return OfHost(host.status());
  // Other hosts may have memory for the subgroup, but all must take the same way. So all ranks
  // learn by an allreduce whether any host was refused, and then all use TCP alone.
  uint8_t without = refused ? 1 : 0;
  Status told = AllReduce(&without, &without, 1, DataType::kUint8, ReduceOp::kMax, deadline);
  if (!told.ok()) return told;
  const bool is_member = std::binary_search(ranks.begin(), ranks.end(), mesh_->rank());
  if (without != 0) {
    if (host.ok() && *host != nullptr) (*host)->Retire();
    if (!is_member) return std::unique_ptr<Group>();
    return std::unique_ptr<Group>(std::make_unique<NetGroup>(mesh_, std::move(ranks), points_));
  }
  if (!is_member) return std::unique_ptr<Group>();
  auto group = std::make_unique<HostsGroup>(mesh_, std::move(*host), Only(ranks, hosts_), points_);
  // The failed rank is recorded in the memory of the host's whole group, so errors in a subgroup
  // count this host's ranks as the whole group does.
  group->neighbours_ = neighbours_;
  return std::unique_ptr<Group>(std::move(group));
}

std::optional<Group::Ways> HostsGroup::ways() const {
  if (hosts_.size() == 1) return std::nullopt;
  Ways ways = {.points = points_,
               .tunable = {&SwitchPoints::whole_bytes, &SwitchPoints::window_bytes}};
  if (rail_count_ > 1) ways.tunable.push_back(&SwitchPoints::rails_bytes);
  return ways;
}

void HostsGroup::SetPoints(const SwitchPoints& points) {
  points_ = points;
  all_.SetPoints(points);
  rail_.SetPoints(points);
}

void HostsGroup::Retire() {
  if (host_ != nullptr) host_->Retire();
}

Status HostsGroup::OfHost(Status done) {
  if (done.ok()) return done;
  if (done.code() == Code::kAborted) {
    // The host's memory may only say that a rank has gone: OfNet() marks the own rank as failed.
    // The mesh knows which rank it was.
    Status known = mesh_->WhoHasGone(locals_, After(kWordsTime));
    if (!known.ok()) return Keep(std::move(known));
  }
  std::string text = done.message() + " (this host's are the job's ranks";
  for (const int rank : neighbours_) {
    text += (rank == neighbours_[0] ? " " : ", ") + std::to_string(rank);
  }
  return Keep({done.code(), text + ")"});
}

Status HostsGroup::OfNet(Status done) {
  // Other ranks of this host may wait in its memory, where no word from other hosts reaches them.
  // Failing the own rank there wakes them.
  if (done.code() == Code::kAborted && host_ != nullptr) host_->Fail(local_);
  return Keep(std::move(done));
}

Status HostsGroup::Keep(Status done) {
  if (!done.ok() && done.code() != Code::kInvalidArgument) failure_ = done;
  return done;
}

void HostsGroup::Fail(int rank) {
  all_.Fail(rank);
  if (host_ != nullptr) host_->Fail(local_);
}

void HostsGroup::Leave() {
  mesh_->Leave();
  if (host_ != nullptr) host_->Leave();
}

}  // namespace tony::collective
