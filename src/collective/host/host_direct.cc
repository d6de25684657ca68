// Allreduce without copies into windows, for vectors that lie in the arenas of all ranks. Each rank
// reduces its part of all vectors in place and writes the result to all ranks.
#include <algorithm>
#include <cstring>

#include "collective/arithmetic/copy.h"
#include "collective/host/host_group.h"

namespace tony::collective {
Status HostGroup::OfferVectors(const Fusion& fusion, bool copy, Deadline deadline) {
  const size_t bytes = fusion.bytes();
  Offer own;
  const std::byte* in = arena_ == nullptr ? nullptr : fusion.Find(0, bytes);
  const auto from = in == nullptr ? std::nullopt : arena_->OffsetOf(in, bytes);
  const void* const out = fusion.tensors()[0].out;
  // Both vectors must lie in the arena, and the prescale factor must be 1 (Fusion::Find).
  const auto to = !from || in == out ? from : arena_->OffsetOf(out, bytes);
  if (to) own = {.in = *from, .out = *to};
  const auto write = [&](std::byte* slot) {
    std::memcpy(slot, &own, sizeof(own));
    if (copy && !to) fusion.Gather(0, bytes, slot + sizeof(own));
  };
  const auto read = [&](int rank, const std::byte* slot) {
    const auto place = static_cast<size_t>(rank);
    std::memcpy(&offers_[place], slot, sizeof(Offer));
    copies_[place] = slot + sizeof(Offer);
  };
  return pipe_.Exchange(write, read, deadline);
}

bool HostGroup::AllOffer() const {
  return std::none_of(offers_.begin(), offers_.end(),
                      [](const Offer& offer) { return offer.out == Offer::kElsewhere; });
}

bool HostGroup::NoneOffers() const {
  return std::all_of(offers_.begin(), offers_.end(),
                     [](const Offer& offer) { return offer.out == Offer::kElsewhere; });
}

/// Each rank reduces its part of all vectors and writes the result to all ranks; then all wait for
/// all. When a rank gives up, its vectors belong to its program again. So each rank checks before
/// each block that all are still there, and writes at most one more block after that.
Status HostGroup::ReduceWhereTheyLie(const Fusion& fusion, ReduceKernel reduce, Deadline deadline) {
  const size_t bytes = fusion.bytes();
  const Offer& own = offers_[static_cast<size_t>(rank())];
  const bool replaces = own.in == own.out;
  const bool stream = bytes >= kStreamBytes && !replaces;
  // The intermediate sum may overwrite the first two operands, those of ranks 0 and 1, which are
  // read first. It must not overwrite the vector of a later rank, which is still to be added.
  const bool in_place = !stream && (rank() < 2 || !replaces);
  const Part part = Part::OfRank(bytes, rank(), ranks());
  pipe_.Prepare(&RankLine::placed);
  // If the results replace the vectors, each byte is read by one rank only, the one that overwrites
  // it, so no barrier is needed between reading and writing.
  alignas(kCacheLine) std::byte block[kBlockBytes];
  for (size_t done = 0; done < part.size; done += kBlockBytes) {
    const size_t size = std::min(kBlockBytes, part.size - done);
    const size_t place = part.begin + done;
    const auto of = [&](int rank) {
      return ArenaOf(rank) + offers_[static_cast<size_t>(rank)].in + place;
    };
    std::byte* const sum = in_place ? ArenaOf(this->rank()) + own.out + place : block;
    ReduceAll(reduce, sum, of, ranks(), size / fusion.element());
    fusion.Finish(sum, size);
    if (Status with_all = pipe_.WithAll(); !with_all.ok()) return with_all;
    for (int turn = in_place ? 1 : 0; turn < ranks(); ++turn) {
      // Each rank begins with its next one, so that not all write to the same rank at once.
      const int rank = (pipe_.rank() + turn) % ranks();
      std::byte* const result = ArenaOf(rank) + offers_[static_cast<size_t>(rank)].out + place;
      Copy(kernels_, result, sum, size, stream);
    }
  }
  pipe_.Publish(&RankLine::placed, ++placed_);
  return pipe_.UntilOthers(&RankLine::placed, placed_, deadline);
}

}  // namespace tony::collective
