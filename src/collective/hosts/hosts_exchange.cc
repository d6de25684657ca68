// HostsGroup's operations on data that lies in the order of ranks: all-gather, reduce-scatter and
// all-to-all. A host's ranks need not be consecutive, so the data is copied into the order of hosts
// and back if they are not.
#include "collective/arithmetic/copy.h"
#include "collective/hosts/hosts_group.h"
#include "collective/net/net_reduction.h"

namespace tony::collective {

std::vector<size_t> HostsGroup::HostEdges(const std::vector<size_t>& of_ranks) const {
  std::vector<size_t> edges = {0};
  for (const std::vector<int>& host : members_) {
    size_t sum = 0;
    for (const int rank : host) sum += of_ranks[static_cast<size_t>(rank)];
    edges.push_back(edges.back() + sum);
  }
  return edges;
}

std::vector<size_t> HostsGroup::OfLocals(const std::vector<size_t>& of_ranks) const {
  std::vector<size_t> found;
  for (const int rank : members_[own_host()]) found.push_back(of_ranks[static_cast<size_t>(rank)]);
  return found;
}

void HostsGroup::Sort(const std::byte* from, std::byte* to, const std::vector<size_t>& bytes,
                      bool back) const {
  const std::vector<size_t> edges = EdgesOf(bytes);
  size_t at = 0;
  for (const int rank : order_) {
    const auto r = static_cast<size_t>(rank);
    CopyIfApart(to + (back ? edges[r] : at), from + (back ? at : edges[r]), bytes[r]);
    at += bytes[r];
  }
}

/// 1. Each host's ranks all-gather their data in shared memory: the host's block.
/// 2. Hosts exchange their blocks through TCP; each rail sends and receives its part of them.
/// 3. Each host's ranks all-gather the parts of each other host's block.
Status HostsGroup::AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                             Deadline deadline) {
  if (!failure_.ok()) return failure_;
  // NetGroup refuses a list of the wrong length with InvalidArgument.
  if (bytes.size() != order_.size()) return all_.AllGather(in, out, bytes, deadline);
  const std::vector<size_t> edges = HostEdges(bytes);
  auto* const result = static_cast<std::byte*>(out);
  std::byte* const all = in_order_ ? result : sorted_.Take(edges.back());
  std::byte* const own = all + edges[own_host()];
  Status done;
  if (host_ != nullptr) {
    done = OfHost(host_->AllGather(in, own, OfLocals(bytes), deadline));
  } else {
    CopyIfApart(own, static_cast<const std::byte*>(in), bytes[static_cast<size_t>(rank())]);
  }
  // The blocks go between hosts once, as if each host were one rank. With an all-gather of all
  // ranks, each rank's data would go once to every rank of every other host.
  if (done.ok()) done = ExchangeBlocks(all, edges, deadline);
  for (size_t host = 0; host < hosts_.size() && done.ok() && host_ != nullptr; ++host) {
    if (host == own_host()) continue;
    const std::vector<size_t> parts = PartsOf(edges[host + 1] - edges[host], 1);
    std::byte* const block = all + edges[host];
    const std::byte* const part = block + parts[static_cast<size_t>(local_)];
    done = OfHost(host_->AllGather(part, block, SizesOf(parts), deadline));
  }
  if (done.ok() && !in_order_) Sort(all, result, bytes, true);
  return done;
}

Status HostsGroup::ExchangeBlocks(std::byte* all, const std::vector<size_t>& edges,
                                  Deadline deadline) {
  if (!IsOnRail()) return {};
  const auto rail = static_cast<size_t>(local_);
  const auto part_of = [&](size_t host) {
    const std::vector<size_t> parts = PartsOf(edges[host + 1] - edges[host], 1);
    return std::pair(all + edges[host] + parts[rail], parts[rail + 1] - parts[rail]);
  };
  const auto [own, own_bytes] = part_of(own_host());
  for (size_t turn = 1; turn < hosts_.size(); ++turn) {
    // Each host begins with its next one, so that not all send to the same host at once.
    const size_t host = (own_host() + turn) % hosts_.size();
    const auto [place, bytes] = part_of(host);
    mesh_->Send(hosts_[host][rail], own, own_bytes);
    mesh_->Receive(hosts_[host][rail], place, bytes);
  }
  return OfNet(mesh_->Finish(deadline));
}

/// 1. Each host's ranks reduce-scatter in memory the block of each host; each rail gets its part.
/// 2. Each rail reduce-scatters these parts between hosts, so each host gets its own block reduced.
/// 3. Each host's ranks all-gather the parts of their block, and each rank copies its own share.
Status HostsGroup::ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                                 DataType type, ReduceOp op, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (counts.size() != order_.size()) {
    return all_.ReduceScatter(in, out, counts, type, op, deadline);
  }
  if (one_host_) {
    return OfHost(host_->ReduceScatter(in, out, counts, type, op, deadline));
  }
  const size_t element = SizeOf(type);
  const auto rail = static_cast<size_t>(local_);
  const std::vector<size_t> edges = HostEdges(counts);
  const auto* vector = static_cast<const std::byte*>(in);
  if (!in_order_) {
    std::byte* const sorted = sorted_.Take(edges.back() * element);
    std::vector<size_t> bytes = counts;
    for (size_t& one : bytes) one *= element;
    Sort(vector, sorted, bytes, false);
    vector = sorted;
  }
  if (host_ == nullptr) {
    return OfNet(rail_.ReduceScatter(vector, out, SizesOf(edges), type, op, deadline));
  }
  std::vector<std::vector<size_t>> parts;
  std::vector<size_t> own_counts;  // elements of this rail's part of each host's block
  for (size_t host = 0; host < hosts_.size(); ++host) {
    parts.push_back(SizesOf(PartsOf(edges[host + 1] - edges[host], element)));
    own_counts.push_back(parts.back()[rail]);
  }
  const std::vector<size_t> own_edges = EdgesOf(own_counts);
  const size_t block_bytes = (edges[own_host() + 1] - edges[own_host()]) * element;
  std::byte* const block = block_.Take(block_bytes + own_edges.back() * element);
  std::byte* const mine = block + block_bytes;  // this rail's parts, host after host
  Status done;
  for (size_t host = 0; host < hosts_.size() && done.ok(); ++host) {
    done = OfHost(host_->ReduceScatter(vector + edges[host] * element,
                                       mine + own_edges[host] * element, parts[host], type, op,
                                       deadline));
  }
  std::vector<size_t> sizes = parts[own_host()];
  for (size_t& size : sizes) size *= element;
  // The rail's result goes straight to its place in the block, so that the all-gather below is in
  // place.
  std::byte* const part = block + EdgesOf(sizes)[rail];
  if (done.ok() && IsOnRail()) {
    done = OfNet(rail_.ReduceScatter(mine, part, own_counts, type, op, deadline));
  }
  if (done.ok()) done = OfHost(host_->AllGather(part, block, sizes, deadline));
  if (!done.ok()) return done;
  const std::vector<size_t> locals = EdgesOf(OfLocals(counts));
  CopyIfApart(static_cast<std::byte*>(out), block + locals[rail] * element,
              (locals[rail + 1] - locals[rail]) * element);
  return {};
}

/// Data for this host's ranks goes through memory, all other data directly through the mesh. The
/// host's operation takes one contiguous range of `in` and `out`, which exists only if the host's
/// ranks are consecutive. Otherwise all goes through TCP. NetGroup also refuses wrong lists.
Status HostsGroup::AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                            const std::vector<size_t>& received, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  const std::vector<int>& locals = members_[own_host()];
  const auto first = static_cast<size_t>(locals.front());
  const auto own = static_cast<size_t>(rank());
  const bool follow = static_cast<size_t>(locals.back()) == first + locals.size() - 1;
  const bool fits = sent.size() == order_.size() && received.size() == order_.size() &&
                    sent[own] == received[own];
  if (host_ == nullptr || !follow || !fits) {
    return OfNet(all_.AllToAll(in, sent, out, received, deadline));
  }
  const std::vector<size_t> from = EdgesOf(sent);
  const std::vector<size_t> to = EdgesOf(received);
  const auto* ours = static_cast<const std::byte*>(in);
  auto* theirs = static_cast<std::byte*>(out);
  Status done = OfHost(host_->AllToAll(ours + from[first], OfLocals(sent), theirs + to[first],
                                       OfLocals(received), deadline));
  if (!done.ok()) return done;
  for (size_t turn = 1; turn < order_.size(); ++turn) {
    const size_t other = (own + turn) % order_.size();
    if (host_of_[other] == host_of_[own]) continue;
    mesh_->Send(mesh_ranks_[other], ours + from[other], sent[other]);
    mesh_->Receive(mesh_ranks_[other], theirs + to[other], received[other]);
  }
  return OfNet(mesh_->Finish(deadline));
}

}  // namespace tony::collective
