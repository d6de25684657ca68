// Hierarchical collective operations: shared memory within each host, TCP between hosts.
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

/// The ranks of each host, in ascending order. Hosts are in the order of their first ranks.
using HostTable = std::vector<std::vector<int>>;

/// A rail is a set of ranks with the same place on their hosts, one of each host. An allreduce:
///
/// 1. Each host's ranks reduce-scatter the vector in shared memory; each rail gets a part of it.
/// 2. The ranks of each rail allreduce their part through TCP.
/// 3. Each host's ranks all-gather the parts.
/// There are as many rails as the smallest host has ranks, and one for short vectors. The sum goes
/// rank after rank within each host, then host after host.
///
/// The other operations use the same rails, so that no byte goes twice between two hosts: data for
/// a host's ranks, or from them, is divided among the rails. In an all-to-all each rank sends to
/// each other rank directly. Data for ranks of its own host goes through memory, if that host's
/// ranks are consecutive.
///
/// Fail() wakes all ranks that wait for TCP, on every host, and all ranks that wait in this host's
/// memory. On each other host one rank must be told besides, to wake those that wait in memory; the
/// links between a host's ranks do so. Not thread safe: owned by one rank's data thread. Only
/// Fail() and Leave() may be called from another thread.
class HostsGroup : public Group {
 public:
  /// `host`: the group of this host's ranks that are in `hosts`; null if that is this rank alone.
  /// `hosts`: all ranks of the mesh, or some of them, the own one among them.
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
  /// The subgroup uses TCP alone if any host has no memory for it.
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
  /// Divides `count` elements among the rails: the edges of the parts, one part for each of this
  /// host's ranks. Ranks behind the last rail have an empty part.
  std::vector<size_t> PartsOf(size_t count, size_t element) const;
  bool IsOnRail() const { return local_ < rail_count_; }
  size_t own_host() const { return static_cast<size_t>(host_of_[static_cast<size_t>(rank())]); }
  /// The edges of the hosts' blocks when data lies host after host. `of_ranks`: each rank's size.
  std::vector<size_t> HostEdges(const std::vector<size_t>& of_ranks) const;
  /// The entries of `of_ranks` for this host's ranks, in their order.
  std::vector<size_t> OfLocals(const std::vector<size_t>& of_ranks) const;
  /// Copies data from the order of ranks to the order of hosts, or `back`. `bytes`: by rank.
  void Sort(const std::byte* from, std::byte* to, const std::vector<size_t>& bytes,
            bool back) const;
  /// Exchanges the hosts' blocks between hosts. Each rail sends and receives its part of them.
  Status ExchangeBlocks(std::byte* all, const std::vector<size_t>& edges, Deadline deadline);
  /// The place for this rank's part of a reduction: in `out`, or in `part_` if `in` is `out`.
  std::byte* BufferFor(const void* in, void* out, size_t begin, size_t bytes);

  /// The group of this host's ranks that are among `members`, which are ranks of the mesh. Null:
  /// fewer than two of them are here. The codes are those of Subgroup(): a refusal is known on this
  /// host only, while an error that ends the group is told to all hosts.
  Result<std::unique_ptr<Group>> SubgroupOfHost(const std::vector<int>& members, Deadline deadline);
  /// Takes the result of an operation of `host_`. An error gets the names of the job's ranks.
  Status OfHost(Status done);
  /// Takes the result of an operation over TCP. An abort wakes this host's ranks, too.
  Status OfNet(Status done);
  /// Keeps an error, other than InvalidArgument, in `failure_`.
  Status Keep(Status done);

  const std::shared_ptr<NetMesh> mesh_;
  const std::unique_ptr<Group> host_;
  SwitchPoints points_;
  // Members with ranks as the mesh counts them:
  const HostTable hosts_;
  const std::vector<int> locals_;  ///< this host's ranks in this group
  /// This host's ranks in the whole mesh. Errors of `host_` name ranks by their place here.
  std::vector<int> neighbours_;
  const int local_;                    ///< place of the own rank in `locals_`
  const int rail_count_;               ///< number of rails: ranks of the smallest host
  NetGroup all_;                       ///< all ranks of this group
  NetGroup rail_;                      ///< the own rail; the own rank alone if it is on none
  const bool one_host_;                ///< the group is one host with several ranks
  const std::vector<int> mesh_ranks_;  ///< rank in the mesh, by rank in this group
  // Members with ranks as this group counts them:
  HostTable members_;
  std::vector<int> host_of_;     ///< index of the host, by rank
  std::vector<int> local_of_;    ///< place on its host, by rank
  std::vector<int> order_;       ///< all ranks, host after host
  bool in_order_ = true;         ///< `order_` is 0, 1, 2 …
  std::vector<std::byte> part_;  ///< of BufferFor()
  Scratch sorted_;               ///< a vector in the order of hosts
  Scratch block_;                ///< this host's block and the parts of the own rail
  Status failure_;
};

}  // namespace tony::collective
