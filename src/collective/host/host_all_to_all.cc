// All-to-all: what is short with the announcement of it, the rest in pieces.
#include <algorithm>
#include <cstring>
#include <string>

#include "collective/arithmetic/copy.h"
#include "collective/host/host_group.h"

namespace tony::collective {
namespace {

/// What a rank tells all others in its slot: where in its data the part of each rank lies; and the
/// data itself if there is room for it.
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

/// Who sends how much to whom only these two know. So each tells all others first; then what did
/// not fit into a slot goes through windows, with a part of each piece for each rank.
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
    // Between other ranks there may be more than this one sends or receives.
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
    pipe_.Fail(pipe_.rank());  // the others would wait for it
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
  std::vector<size_t> missing_;  ///< comes from each rank through its window
  const bool stream_;            ///< past the caches
  const Deadline deadline_;
  const size_t part_ = PartBytes(kPieceBytes, pipe_.ranks());
  bool has_room_ = false;  ///< for the data that this rank sends, in its slot
  size_t most_ = 0;        ///< that one rank sends to one, through windows
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
