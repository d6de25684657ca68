// All-to-all. Each rank announces the sizes in its slot; short data goes with the announcement,
// long data in pieces through the windows.
#include <algorithm>
#include <cstring>
#include <string>

#include "collective/arithmetic/copy.h"
#include "collective/host/host_group.h"

namespace tony::collective {
namespace {

/// The content of a rank's slot: the edges of each rank's part in its data, and the data itself if
/// there is room for it.
class Announcement {
 public:
  Announcement(std::byte* slot, size_t ranks) : slot_(slot), ranks_(ranks) {}

  static bool HasRoom(size_t bytes, size_t ranks) {
    return bytes + (ranks + 1) * sizeof(size_t) <= kSlotBytes;
  }
  size_t Edge(size_t rank) const {
    size_t edge;
    std::memcpy(&edge, slot_ + rank * sizeof(edge), sizeof(edge));
    return edge;
  }
  size_t BytesOf(size_t rank) const { return Edge(rank + 1) - Edge(rank); }
  bool HasData() const { return HasRoom(Edge(ranks_), ranks_); }
  std::byte* edges() const { return slot_; }
  std::byte* data() const { return slot_ + (ranks_ + 1) * sizeof(size_t); }

 private:
  std::byte* const slot_;
  const size_t ranks_;
};

/// Only the two ranks of a pair know how much one sends to the other. But all ranks must take the
/// same number of pieces, so each rank announces its sizes to all first. Data that did not fit into
/// the slots then goes through the windows, each piece with a part for each rank.
class HostAllToAll {
 public:
  HostAllToAll(HostPipe& pipe, const Kernels& kernels, const void* in,
               const std::vector<size_t>& sent, void* out, const std::vector<size_t>& received,
               Deadline deadline)
      : pipe_(pipe),
        kernels_(kernels),
        me_(static_cast<size_t>(pipe.rank())),
        in_(static_cast<const std::byte*>(in)),
        sent_(sent),
        in_edges_(EdgesOf(sent)),
        out_(static_cast<std::byte*>(out)),
        out_edges_(EdgesOf(received)),
        missing_(received),
        stream_(out_edges_.back() >= kStreamBytes),
        deadline_(deadline) {}

  Status Run() {
    Status told = Announce();
    if (!told.ok()) return told;
    Copy(kernels_, out_ + out_edges_[me_], in_ + in_edges_[me_], missing_[me_], stream_);
    // The number of pieces follows from the largest amount between any two ranks. That may be more
    // than this rank sends or receives.
    const auto pieces = static_cast<uint32_t>(PartsOf(most_, part_));
    if (pieces == 0) return {};
    const auto fill = [this](std::byte* window, uint32_t step) { Fill(window, step); };
    const auto take = [this](uint32_t piece, uint32_t step) {
      const auto read = [&](int rank, const std::byte* window) { Take(rank, window, step); };
      return pipe_.ReadOthers(&RankLine::copied, piece, read, deadline_);
    };
    return pipe_.InPieces(pieces, fill, take, deadline_);
  }

 private:
  Status Announce() {
    int unexpected = -1;
    const auto write = [&](std::byte* slot) {
      const Announcement own(slot, sent_.size());
      std::memcpy(own.edges(), in_edges_.data(), in_edges_.size() * sizeof(size_t));
      has_room_ = Announcement::HasRoom(in_edges_.back(), sent_.size());
      if (has_room_) Copy(kernels_, own.data(), in_, in_edges_.back(), false);
    };
    const auto read = [&](int rank, std::byte* slot) {
      const Announcement other(slot, sent_.size());
      const auto r = static_cast<size_t>(rank);
      // A rank whose data fits into its slot sends nothing through its window. Each rank computes
      // `most_` from the same announcements, so all come to the same number of pieces.
      if (other.BytesOf(me_) != missing_[r]) {
        unexpected = rank;
      } else if (other.HasData()) {
        Copy(kernels_, out_ + out_edges_[r], other.data() + other.Edge(me_), missing_[r], false);
        missing_[r] = 0;
      } else {
        for (size_t to = 0; to < sent_.size(); ++to) {
          if (to != r) most_ = std::max(most_, other.BytesOf(to));
        }
      }
    };
    Status came = pipe_.Exchange(write, read, deadline_);
    if (!came.ok() || unexpected < 0) return came;
    // This rank does not go on, so the others would wait for it in vain.
    pipe_.Fail(pipe_.rank());
    return {Code::kInternal, "rank " + std::to_string(unexpected) +
                                 " sends another number of bytes than is expected of it"};
  }

  void Fill(std::byte* window, uint32_t step) {
    for (size_t to = 0; !has_room_ && to < sent_.size(); ++to) {
      const auto [begin, size] = Part::Of(sent_[to], part_, step);
      if (to == me_) continue;
      Copy(kernels_, window + to * part_, in_ + in_edges_[to] + begin, size, false);
    }
  }

  void Take(int rank, const std::byte* window, uint32_t step) {
    const auto from = static_cast<size_t>(rank);
    const auto [begin, size] = Part::Of(missing_[from], part_, step);
    Copy(kernels_, out_ + out_edges_[from] + begin, window + me_ * part_, size, stream_);
  }

  HostPipe& pipe_;
  const Kernels& kernels_;
  const size_t me_;
  const std::byte* const in_;
  const std::vector<size_t>& sent_;
  const std::vector<size_t> in_edges_;
  std::byte* const out_;
  const std::vector<size_t> out_edges_;
  std::vector<size_t> missing_;  ///< bytes still to come from each rank, through its window
  const bool stream_;            ///< received data is written past the caches
  const Deadline deadline_;
  const size_t part_ = PartBytes(kPieceBytes, pipe_.ranks());
  bool has_room_ = false;  ///< the data that this rank sends fits into its slot
  size_t most_ = 0;        ///< most bytes that any rank sends to another through the windows
};

}  // namespace

Status HostGroup::AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                           const std::vector<size_t>& received, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (Status check = CheckList("sent bytes", sent.size()); !check.ok()) return check;
  if (Status check = CheckList("received bytes", received.size()); !check.ok()) return check;
  return Keep(HostAllToAll(pipe_, kernels_, in, sent, out, received, deadline).Run());
}

}  // namespace tony::collective
