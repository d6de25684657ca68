// Direct exchange, Bruck's all-gather, a dissemination barrier, and broadcast by a binomial tree or
// by scatter and all-gather. The reduction in pieces is in net_group_pieces.cc.
#include "collective/net/net_group.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "collective/arithmetic/copy.h"
#include "collective/net/net_reduction.h"

namespace tony::collective {
namespace {

Status WrongLength(const std::string& what, size_t length, int ranks) {
  return {Code::kInvalidArgument, std::to_string(length) + " " + what + " for " +
                                      std::to_string(ranks) + " ranks: give one of each rank"};
}

}  // namespace

NetGroup::NetGroup(std::shared_ptr<NetMesh> mesh, std::vector<int> members, SwitchPoints points)
    : mesh_(std::move(mesh)),
      members_(std::move(members)),
      points_(points),
      rank_(static_cast<int>(std::find(members_.begin(), members_.end(), mesh_->rank()) -
                             members_.begin())),
      kernels_(BestKernels()) {}

/// A subgroup uses the same connections, so no rank has to be asked.
Result<std::unique_ptr<Group>> NetGroup::Subgroup(const std::vector<int>& members, Deadline) {
  if (std::find(members.begin(), members.end(), rank_) == members.end()) {
    return std::unique_ptr<Group>();
  }
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(members_[static_cast<size_t>(member)]);
  return std::unique_ptr<Group>(std::make_unique<NetGroup>(mesh_, std::move(ranks), points_));
}

void NetGroup::ForOthers(const std::function<void(int)>& call) const {
  for (int turn = 1; turn < ranks(); ++turn) call((rank_ + turn) % ranks());
}

Status NetGroup::AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                           Deadline deadline) {
  const size_t bytes = count * SizeOf(type);
  auto* result = static_cast<std::byte*>(out);
  const auto* vector = static_cast<const std::byte*>(in);
  if (ranks() == 1 || bytes == 0) {
    CopyIfApart(result, vector, bytes);
    return mesh_->Finish(deadline);
  }
  NetReduction work(EvenEdges(count, SizeOf(type), ranks()), SizeOf(type), points_);
  work.in = vector;
  work.out = result;
  work.own = result + work.ChunkBegin(rank_);
  work.reduce = kernels_.Reduce(type, op);
  // Sent whole, each rank receives n - 1 vectors. In pieces it receives 2 (n - 1) / n of one
  // vector, but needs a second exchange, which is not worth it for a short vector.
  const bool is_short = bytes * static_cast<size_t>(ranks() - 1) <= points_.whole_bytes;
  return is_short ? ReduceWhole(work, deadline) : ReduceInPieces(work, deadline);
}

Status NetGroup::ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                               DataType type, ReduceOp op, Deadline deadline) {
  if (counts.size() != members_.size()) return WrongLength("counts", counts.size(), ranks());
  NetReduction work(EdgesOf(counts), SizeOf(type), points_);
  work.in = static_cast<const std::byte*>(in);
  work.own = static_cast<std::byte*>(out);
  work.reduce = kernels_.Reduce(type, op);
  if (ranks() > 1) return ReduceInPieces(work, deadline);
  CopyIfApart(work.own, work.in, counts[0] * SizeOf(type));
  return mesh_->Finish(deadline);
}

Status NetGroup::ReduceWhole(const NetReduction& work, Deadline deadline) {
  const size_t bytes = work.bytes();
  std::byte* blocks = scratch_.Take(bytes * members_.size());
  const bool directly = members_.size() <= points_.direct_ranks;
  Status there = directly ? GatherDirectly(work, deadline) : GatherByDoubling(work, deadline);
  if (!there.ok()) return there;
  // Both gathers put the block of the rank that follows by k at place k.
  const auto block = [&](int rank) {
    return blocks + bytes * static_cast<size_t>((rank - rank_ + ranks()) % ranks());
  };
  const auto of = [&](int rank) { return rank == rank_ ? work.in : block(rank); };
  // `in` may be `out`. The intermediate sum goes to `out` only on rank 0, whose own vector is the
  // first operand; elsewhere it would overwrite the own vector before that is added.
  std::byte* const sum = rank_ == 0 ? work.out : block(0);
  ReduceAll(work.reduce, work.out, sum, of, ranks(), bytes / work.element);
  return {};
}

Status NetGroup::GatherDirectly(const NetReduction& work, Deadline deadline) {
  const size_t bytes = work.bytes();
  std::byte* block = scratch_.data();
  ForOthers([&](int rank) {
    Send(rank, work.in, bytes);
    Receive(rank, block += bytes, bytes);
  });
  return mesh_->Finish(deadline);
}

/// Recursive doubling for any number of ranks [Bruck et al. 1997]. Each rank has its own block and
/// those of the ranks that follow it: one block, then two, four, …, and after the last step all.
Status NetGroup::GatherByDoubling(const NetReduction& work, Deadline deadline) {
  const size_t bytes = work.bytes();
  std::memcpy(scratch_.data(), work.in, bytes);
  for (int known = 1; known < ranks(); known *= 2) {
    const auto news = static_cast<size_t>(std::min(known, ranks() - known));
    Send((rank_ - known + ranks()) % ranks(), scratch_.data(), news * bytes);
    Receive((rank_ + known) % ranks(), scratch_.data() + static_cast<size_t>(known) * bytes,
            news * bytes);
    if (Status done = mesh_->Finish(deadline); !done.ok()) return done;
  }
  return {};
}

/// A dissemination barrier: in each step a rank signals the rank `known` places ahead and waits for
/// the one `known` places behind. The number of ranks that it has heard of doubles with each step.
Status NetGroup::Barrier(Deadline deadline) {
  std::byte said{1};
  std::byte heard{0};
  for (int known = 1; known < ranks(); known *= 2) {
    Send((rank_ + known) % ranks(), &said, 1);
    Receive((rank_ - known + ranks()) % ranks(), &heard, 1);
    if (Status done = mesh_->Finish(deadline); !done.ok()) return done;
  }
  return {};
}

Status NetGroup::AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                           Deadline deadline) {
  if (bytes.size() != members_.size()) return WrongLength("sizes", bytes.size(), ranks());
  const std::vector<size_t> begin = EdgesOf(bytes);
  auto* all = static_cast<std::byte*>(out);
  const size_t own = bytes[static_cast<size_t>(rank_)];
  CopyIfApart(all + begin[static_cast<size_t>(rank_)], static_cast<const std::byte*>(in), own);
  ForOthers([&](int rank) {
    const auto other = static_cast<size_t>(rank);
    Send(rank, static_cast<const std::byte*>(in), own);
    Receive(rank, all + begin[other], bytes[other]);
  });
  return mesh_->Finish(deadline);
}

Status NetGroup::AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                          const std::vector<size_t>& received, Deadline deadline) {
  if (sent.size() != members_.size()) return WrongLength("sizes sent", sent.size(), ranks());
  if (received.size() != members_.size()) {
    return WrongLength("sizes received", received.size(), ranks());
  }
  const std::vector<size_t> from = EdgesOf(sent);
  const std::vector<size_t> to = EdgesOf(received);
  const auto* theirs = static_cast<const std::byte*>(in);
  auto* ours = static_cast<std::byte*>(out);
  const auto own = static_cast<size_t>(rank_);
  if (sent[own] != received[own]) {
    return {Code::kInvalidArgument, "rank " + std::to_string(rank_) + " sends itself " +
                                        std::to_string(sent[own]) + " bytes and wants " +
                                        std::to_string(received[own])};
  }
  CopyIfApart(ours + to[own], theirs + from[own], sent[own]);
  ForOthers([&](int rank) {
    const auto other = static_cast<size_t>(rank);
    Send(rank, theirs + from[other], sent[other]);
    Receive(rank, ours + to[other], received[other]);
  });
  return mesh_->Finish(deadline);
}

Status NetGroup::Broadcast(void* data, size_t bytes, int root, Deadline deadline) {
  if (root < 0 || root >= ranks()) {
    return {Code::kInvalidArgument,
            "there is no rank " + std::to_string(root) + " among " + std::to_string(ranks())};
  }
  auto* at = static_cast<std::byte*>(data);
  // With two ranks there is nobody to pass a part on to, so scattering gains nothing.
  if (ranks() <= 2 || bytes < points_.scatter_bytes) {
    return BroadcastDownTree(at, bytes, root, deadline);
  }
  return ScatterFromRoot(at, bytes, root, deadline);
}

/// A binomial tree rooted at `root`. A rank receives the vector from its parent, then sends it to
/// its children, the one with the largest subtree first. `place`: the rank's distance from the
/// root.
Status NetGroup::BroadcastDownTree(std::byte* data, size_t bytes, int root, Deadline deadline) {
  const int place = (rank_ - root + ranks()) % ranks();
  const auto at = [&](int other) { return (other + root) % ranks(); };
  int step = 1;
  while (step < ranks() && (place & step) == 0) step *= 2;
  if (place != 0) {
    Receive(at(place - step), data, bytes);
    if (Status done = mesh_->Finish(deadline); !done.ok()) return done;
  }
  for (step /= 2; step > 0; step /= 2) {
    if (place + step < ranks()) Send(at(place + step), data, bytes);
  }
  return mesh_->Finish(deadline);
}

/// A scatter and an all-gather, pipelined in pieces. Each other rank gets its part from the root
/// and passes it on to all others. The root sends the vector once in total, and no other rank sends
/// more than that, where the root of a tree would send it several times.
Status NetGroup::ScatterFromRoot(std::byte* data, size_t bytes, int root, Deadline deadline) {
  const auto part_of = [&](int rank) { return rank < root ? rank : rank - 1; };
  const NetReduction parts(EvenEdges(bytes, 1, ranks() - 1), 1, points_);
  const auto piece_of = [&](int rank, size_t piece) { return parts.Piece(part_of(rank), piece); };
  std::vector<NetMesh::TransferHandle> coming;
  for (size_t piece = 0; piece < parts.pieces; ++piece) {
    ForOthers([&](int rank) {
      if (rank_ == root) {
        const auto [begin, size] = piece_of(rank, piece);
        Send(rank, data + begin, size);
      } else {
        const auto [begin, size] = piece_of(rank == root ? rank_ : rank, piece);
        // The root sends this rank's part, each other rank its own part.
        const NetMesh::TransferHandle handle = Receive(rank, data + begin, size);
        if (rank == root) coming.push_back(handle);
      }
    });
  }
  for (size_t piece = 0; piece < coming.size(); ++piece) {
    if (Status there = mesh_->Until(coming[piece], deadline); !there.ok()) return there;
    const auto [begin, size] = piece_of(rank_, piece);
    ForOthers([&, first = begin, length = size](int rank) {
      if (rank != root) Send(rank, data + first, length);
    });
  }
  return mesh_->Finish(deadline);
}

}  // namespace tony::collective
