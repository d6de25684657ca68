// All-gather and broadcast: through the slots in one exchange if the data fits, else in pieces
// through the windows.
#include <algorithm>
#include <cstring>
#include <string>

#include "collective/arithmetic/copy.h"
#include "collective/host/host_group.h"

namespace tony::collective {
Status HostGroup::AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                            Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (Status check = CheckList("bytes", bytes.size()); !check.ok()) return check;
  const std::vector<size_t> edges = EdgesOf(bytes);
  const auto me = static_cast<size_t>(rank());
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  const bool stream = edges.back() >= kStreamBytes;
  if (edges.back() == 0) return {};
  if (from != to + edges[me]) Copy(kernels_, to + edges[me], from, bytes[me], stream);
  if (ranks() == 1) return {};
  // All ranks know all sizes, so all make the same choice and count the same number of pieces.
  const size_t most = *std::max_element(bytes.begin(), bytes.end());
  if (most <= kSlotBytes) {
    const auto write = [&](std::byte* slot) { Copy(kernels_, slot, from, bytes[me], false); };
    const auto read = [&](int rank, const std::byte* slot) {
      const auto r = static_cast<size_t>(rank);
      if (r != me) Copy(kernels_, to + edges[r], slot, bytes[r], false);
    };
    return Keep(pipe_.Exchange(write, read, deadline));
  }
  const auto fill = [&](std::byte* window, uint32_t step) {
    const auto [begin, size] = Part::Of(bytes[me], kPieceBytes, step);
    Copy(kernels_, window, from + begin, size, false);
  };
  const auto take = [&](uint32_t piece, uint32_t step) {
    const auto read = [&](int rank, const std::byte* window) {
      const auto r = static_cast<size_t>(rank);
      const auto [begin, size] = Part::Of(bytes[r], kPieceBytes, step);
      Copy(kernels_, to + edges[r] + begin, window, size, stream);
    };
    return pipe_.ReadOthers(&RankLine::copied, piece, read, deadline);
  };
  const auto pieces = static_cast<uint32_t>(PartsOf(most, kPieceBytes));
  return Keep(pipe_.InPieces(pieces, fill, take, deadline));
}

/// A long broadcast uses only the root's window. The root does not wait for the others at the end:
/// it goes on as soon as its last piece is in the window.
Status HostGroup::Broadcast(void* data, size_t bytes, int root, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (root < 0 || root >= ranks()) {
    return {Code::kInvalidArgument, "there is no root rank " + std::to_string(root)};
  }
  if (ranks() == 1 || bytes == 0) return {};
  auto* own = static_cast<std::byte*>(data);
  const bool is_root = rank() == root;
  if (bytes <= kSlotBytes) {
    const auto write = [&](std::byte* slot) {
      Copy(kernels_, slot, own, is_root ? bytes : 0, false);
    };
    const auto read = [&](int rank, const std::byte* slot) {
      if (rank == root && !is_root) Copy(kernels_, own, slot, bytes, false);
    };
    return Keep(pipe_.Exchange(write, read, deadline));
  }
  const auto pieces = static_cast<uint32_t>(PartsOf(bytes, kPieceBytes));
  const uint32_t first = pipe_.next_piece();
  for (uint32_t step = 0; step < pieces; ++step) {
    const auto [begin, size] = Part::Of(bytes, kPieceBytes, step);
    std::byte* const at = own + begin;
    Status done;
    if (is_root) {
      const auto write = [&, size = size](std::byte* window) { std::memcpy(window, at, size); };
      done = pipe_.Fill(first + step, write, deadline);
    } else {
      done = pipe_.Until(root, &RankLine::copied, first + step + 1, deadline);
      if (done.ok()) {
        Copy(kernels_, at, pipe_.Window(root, first + step), size, bytes >= kStreamBytes);
        pipe_.Publish(&RankLine::fetched, first + step + 1);
      }
    }
    if (!done.ok()) return Keep(done);
  }
  pipe_.FinishPieces(pieces);
  return {};
}

}  // namespace tony::collective
