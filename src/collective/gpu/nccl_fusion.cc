// Allreduce of several tensors: small ones are gathered into windows of the GPU's fusion buffer; a
// large one is reduced where it lies, in pieces of the buffer's size.
#include <algorithm>
#include <utility>

#include "collective/gpu/nccl_group.h"

namespace tony::collective {
namespace {

template <typename Byte, typename Void>
Void* At(Void* data, size_t offset) {
  return data == nullptr ? nullptr : static_cast<Byte*>(data) + offset;
}

}  // namespace

/// The windows depend on the tensors' sizes only, which are the same on all ranks. Addresses
/// differ, and ranks that have joined have none. A part larger than half of the buffer gets a
/// window of its own, so that it can be reduced without a copy.
std::vector<NcclGroup::Tensors> NcclGroup::WindowsOf(const Fusion& fusion) const {
  const size_t capacity = fusion_->capacity();
  std::vector<Tensors> windows;
  Tensors window;
  const auto close = [&] {
    if (!window.empty()) windows.push_back(std::exchange(window, {}));
  };
  for (const Fusion::Tensor& tensor : fusion.tensors()) {
    const size_t bytes = tensor.count * fusion.element();
    for (size_t begin = 0; begin < bytes; begin += capacity) {
      const FusionBuffer::Tensor part = {.in = At<const std::byte>(tensor.in, begin),
                                         .out = At<std::byte>(tensor.out, begin),
                                         .bytes = std::min(capacity, bytes - begin)};
      const bool alone = part.bytes > capacity / 2;
      if (alone) close();
      window.push_back(part);
      if (FusionBuffer::BytesFor(window) > capacity) {
        window.pop_back();
        close();
        window.push_back(part);
      }
      if (alone) close();
    }
  }
  close();
  return windows;
}

Status NcclGroup::AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) {
  // All windows are queued on the stream without a wait between them; the host waits once, at the
  // end.
  const bool deferred = std::exchange(deferred_, true);
  Status status;
  for (const Tensors& window : WindowsOf(fusion)) {
    status = ReduceWindow(window, fusion, op, deadline);
    if (!status.ok()) break;
  }
  deferred_ = deferred;
  return status.ok() && !deferred ? Finish(deadline) : status;
}

/// A rank that has the tensor of a single-tensor window reduces it where it lies; a rank without it
/// uses the buffer. NCCL needs the same count on all ranks, but not the same kind of memory.
Status NcclGroup::ReduceWindow(const Tensors& window, const Fusion& fusion, ReduceOp op,
                               Deadline deadline) {
  const DataType type = fusion.type();
  const bool single = window.size() == 1;
  const size_t bytes = single ? window[0].bytes : FusionBuffer::BytesFor(window);
  const size_t count = bytes / fusion.element();
  if (!single || window[0].in == nullptr || window[0].out == nullptr) {
    Status done = fusion_->Gather(window, type, fusion.before(), *stream_);
    if (done.ok()) done = AllReduce(fusion_->data(), fusion_->data(), count, type, op, deadline);
    if (done.ok()) done = fusion_->Scatter(window, type, fusion.after(), *stream_);
    return done;
  }
  const auto [in, out, size] = window[0];
  const bool scaled = fusion.before() != 1;
  const Copy before = {in, out, size};
  const Copy after = {out, out, size};
  Status done;
  if (scaled) done = copies_->Run({&before, 1}, type, fusion.before(), *stream_);
  if (done.ok()) done = AllReduce(scaled ? out : in, out, count, type, op, deadline);
  if (done.ok() && fusion.after() != 1) {
    done = copies_->Run({&after, 1}, type, fusion.after(), *stream_);
  }
  return done;
}

}  // namespace tony::collective
