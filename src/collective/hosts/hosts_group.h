// A group of ranks on several hosts, of which some share memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/base/scratch.h"
#include "collective/group/group.h"
#include "collective/group/switch_points.h"
#include "collective/net/net_group.h"

namespace tony::collective {

/// Host h's ranks, in their order, by host; hosts in the order of their first ranks.
using HostTable = std::vector<std::vector<int>>;

/// 1. Each host's ranks reduce a vector in their shared memory; what is a rail gets a part of it.
/// 2. Ranks of the same rail, one of each host, reduce their part through TCP.
/// 3. Each host's ranks gather the parts.
/// There are as many rails as the smallest host has ranks, and one for short vectors. Adds rank
/// after rank within each host, then host after host.
///
/// The other operations go the same way, so that between two hosts nothing goes twice: what is for
/// a host's ranks, or of them, goes in parts on the rails. In an all-to-all each sends to each; to
/// those of its host through memory, if their ranks follow each other.
///
/// Fail() wakes who waits for TCP everywhere, and who waits in this host's memory. On other hosts
/// one rank has to be told besides: the links between a host's ranks do so.
class HostsGroup : public Group {
 public:
  /// `host`: of those of this host's ranks that are in the table, none where it is one alone.
  /// `hosts`: all of the mesh's ranks, or some of them, the own one among them.
  HostsGroup(std::shared_ptr<NetMesh> mesh, std::unique_ptr<Group> host, const HostTable& hosts,
             SwitchPoints points);

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  Status Barrier(Deadline deadline) override;
  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline deadline) override;
  Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) override;
  Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                       ReduceOp op, Deadline deadline) override;
  Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                  const std::vector<size_t>& received, Deadline deadline) override;
  Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) override;
  /// Through TCP alone where a host has no memory for it.
  Result<std::unique_ptr<Group>> Subgroup(const std::vector<int>& members,
                                          Deadline deadline) override;
  std::optional<Ways> ways() const override;
  void SetPoints(const SwitchPoints& points) override;
  void Retire() override;
  void Fail(int rank) override;
  void Leave() override;
  int rank() const override { return all_.rank(); }
  int ranks() const override { return all_.ranks(); }

 private:
  /// Of `count` elements: where the rails' parts begin and end. Empty behind the last rail.
  std::vector<size_t> PartsOf(size_t count, size_t element) const;
  bool IsOnRail() const { return local_ < rail_count_; }
  size_t own_host() const { return static_cast<size_t>(host_of_[static_cast<size_t>(rank())]); }
  /// Of what ranks have of something, host after host, where each host's begins, and the end.
  std::vector<size_t> HostEdges(const std::vector<size_t>& of_ranks) const;
  /// Of what this host's ranks have of it, in their order.
  std::vector<size_t> OfLocals(const std::vector<size_t>& of_ranks) const;
  /// From the order of ranks to that of hosts, or back.
  void Sort(const std::byte* from, std::byte* to, const std::vector<size_t>& bytes,
            bool back) const;
  /// Each host's block from its rail to those of the other hosts, each rail its part.
  Status ExchangeBlocks(std::byte* all, const std::vector<size_t>& edges, Deadline deadline);
  /// A part of it for this rank.
  std::byte* PlaceFor(const void* in, void* out, size_t begin, size_t bytes);

  /// Of this host's ranks those that are among `members`; null: they need none. The codes of
  /// Subgroup(); only what ends the group is told to all hosts.
  Result<std::unique_ptr<Group>> SubgroupOfHost(const std::vector<int>& members, Deadline deadline);
  /// What an operation of this host's ranks, or between hosts, came to, for all of the job.
  Status OfHost(Status done);
  Status OfNet(Status done);
  Status Keep(Status done);

  const std::shared_ptr<NetMesh> mesh_;
  const std::unique_ptr<Group> host_;
  SwitchPoints points_;
  // As the mesh counts ranks:
  const HostTable hosts_;
  const std::vector<int> locals_;  ///< this host's
  std::vector<int> neighbours_;    ///< those of the whole mesh, as errors of this host count them
  const int local_;                ///< the own place among them
  const int rail_count_;
  NetGroup all_;
  NetGroup rail_;
  const bool one_host_;                ///< of several ranks
  const std::vector<int> mesh_ranks_;  ///< by rank
  // As this group counts them:
  HostTable members_;
  std::vector<int> host_of_;  ///< by rank
  std::vector<int> local_of_;
  std::vector<int> order_;  ///< all of them, host after host
  bool in_order_ = true;    ///< which is 0, 1, 2 …
  std::vector<std::byte> part_;
  Scratch sorted_;  ///< what others see rank after rank, host after host
  Scratch block_;
  Status failure_;
};

}  // namespace tony::collective
