// A group of ranks on several hosts, of which some share memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collective/group.h"
#include "collective/host_group.h"
#include "collective/net_group.h"
#include "collective/switch_points.h"

namespace tony::collective {

/// Host h's ranks, in their order, by host; hosts in the order of their first ranks.
using HostTable = std::vector<std::vector<int>>;

/// 1. Each host's ranks reduce a vector in their shared memory; what is a rail gets a part of it.
/// 2. Ranks of the same rail, one of each host, reduce their part through TCP.
/// 3. Each host's ranks gather the parts.
/// There are as many rails as the smallest host has ranks, and one for short vectors. Adds rank
/// after rank within each host, then host after host. What cannot be shared within a host (a
/// gather, a reduce-scatter, all to all) goes between all ranks through TCP.
///
/// Fail() wakes who waits for TCP everywhere, and who waits in this host's memory. On other hosts
/// one rank has to be told besides: the links between a host's ranks do so.
class HostsGroup : public Group {
 public:
  /// `host`: of this host's ranks, none where it is one alone. `hosts`: more than one of them.
  HostsGroup(std::shared_ptr<NetMesh> mesh, std::unique_ptr<HostGroup> host, const HostTable& hosts,
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
  void Fail(int rank) override;
  void Leave() override;
  int rank() const override { return all_.rank(); }
  int ranks() const override { return all_.ranks(); }

 private:
  /// Of `count` elements: where the rails' parts begin and end. Empty behind the last rail.
  std::vector<size_t> PartsOf(size_t count, size_t element) const;
  bool IsOnRail() const { return local_ < rail_count_; }
  /// A part of it for this rank.
  std::byte* PlaceFor(const void* in, void* out, size_t begin, size_t bytes);

  /// What an operation of this host's ranks, or between hosts, came to, for all of the job.
  Status OfHost(Status done, Deadline deadline);
  Status OfNet(Status done);
  Status Keep(Status done);

  const std::shared_ptr<NetMesh> mesh_;
  const std::unique_ptr<HostGroup> host_;
  const SwitchPoints points_;
  const std::vector<int> locals_;  ///< this host's ranks
  const int local_;                ///< the own place among them
  const int rail_count_;
  NetGroup all_;
  NetGroup rail_;
  std::vector<int> host_of_;  ///< by rank
  std::vector<int> local_of_;
  std::vector<std::byte> part_;
  Status failure_;
};

}  // namespace tony::collective
