// Reduces vectors where they lie, if those of all ranks lie in memory that all can reach.
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

/// Each reduces its part of the vectors and writes the result to all ranks; all wait for all. When
/// one of them gives up, its vectors are its program's again: the others look before each block
/// that they write to it.
Status HostGroup::ReduceWhereTheyLie(const Fusion& fusion, ReduceKernel reduce, Deadline deadline) {
  const size_t bytes = fusion.bytes();
  const Offer& own = offers_[static_cast<size_t>(rank())];
  const bool replaces = own.in == own.out;
  const bool stream = bytes >= kStreamBytes && !replaces;
  // A sum may take the place of the first two numbers that it is of, but of no later one.
  const bool in_place = !stream && (rank() < 2 || !replaces);
  const Part part = Part::OfRank(bytes, rank(), ranks());
  pipe_.Prepare(&RankLine::placed);
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
      const int rank = (pipe_.rank() + turn) % ranks();  // not all to the same one at once
      std::byte* const result = ArenaOf(rank) + offers_[static_cast<size_t>(rank)].out + place;
      Copy(kernels_, result, sum, size, stream);
    }
  }
  pipe_.Publish(&RankLine::placed, ++placed_);
  return pipe_.UntilOthers(&RankLine::placed, placed_, deadline);
}

}  // namespace tony::collective
