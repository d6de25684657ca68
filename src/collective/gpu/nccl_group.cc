// Maps each collective operation to NCCL's calls. NCCL's allgather and reducescatter need equal
// lengths; with different lengths they become one broadcast or one reduction for each rank, as one
// NCCL group.
#include "collective/gpu/nccl_group.h"

#include <algorithm>
#include <utility>

#include "collective/gpu/nccl_reduction.h"

namespace tony::collective {
namespace {

// Operations that only move data count in bytes, whatever the element type is.
constexpr NcclType kByte = NcclType::kUint8;

const std::byte* At(const void* data, size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}
std::byte* At(void* data, size_t offset) { return static_cast<std::byte*>(data) + offset; }

bool AllEqual(const std::vector<size_t>& lengths) {
  return std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>()) == lengths.end();
}

size_t Sum(const std::vector<size_t>& lengths) {
  size_t sum = 0;
  for (const size_t length : lengths) sum += length;
  return sum;
}

std::string Sentence(std::string_view operation, size_t count, std::string_view of) {
  return "the " + std::string(operation) + " of " + std::to_string(count) + " " + std::string(of);
}

}  // namespace

Result<std::unique_ptr<NcclGroup>> NcclGroup::Create(std::shared_ptr<const NcclLibrary> nccl,
                                                     std::shared_ptr<Device> device,
                                                     Communicator::Membership membership,
                                                     const Options& options) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(std::move(nccl), device, std::move(membership)));
  auto stream = Stream::Create(device);
  if (!stream.ok()) return stream.status();
  auto finished = Event::Create(device);
  if (!finished.ok()) return finished.status();
  auto done = Event::Create(device);
  if (!done.ok()) return done.status();
  auto barrier = DeviceMemory::Allocate(device, sizeof(int32_t));
  if (!barrier.ok()) return barrier.status();
  group->copies_ = std::make_unique<BatchedCopy>(device, options.ptx);
  auto fusion = FusionBuffer::Create(device, *group->copies_, options.fusion_bytes);
  if (!fusion.ok()) return fusion.status();
  group->fusion_ = std::move(*fusion);
  group->stream_ = std::move(*stream);
  group->finished_ = std::move(*finished);
  group->done_ = std::move(*done);
  group->barrier_ = std::move(*barrier);
  return group;
}

NcclGroup::NcclGroup(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
                     Communicator::Membership membership)
    : nccl_(nccl),
      device_(device),
      communicator_(std::move(nccl), std::move(device), std::move(membership)) {}

NcclGroup::~NcclGroup() = default;

Status NcclGroup::Connect(Deadline deadline) { return communicator_.Connect(deadline); }

Status NcclGroup::WaitFor(CudaEvent ready) { return stream_->WaitFor(ready); }

Result<CudaEvent> NcclGroup::Done() {
  Status recorded = stream_->Record(*done_);
  if (!recorded.ok()) return recorded;
  return done_->handle();
}

Status NcclGroup::Usable(const std::vector<size_t>* lengths) const {
  if (!communicator_.failure().ok()) return communicator_.failure();
  if (left_.load(std::memory_order_acquire)) {
    return {Code::kFailedPrecondition, "this rank has left its group of GPUs"};
  }
  if (lengths != nullptr && lengths->size() != static_cast<size_t>(ranks())) {
    return {Code::kInvalidArgument, std::to_string(lengths->size()) + " lengths were given for " +
                                        std::to_string(ranks()) + " ranks"};
  }
  return {};
}

Status NcclGroup::Run(const std::string& what, const std::function<NcclResult(NcclComm)>& calls,
                      Deadline deadline) {
  Status issued = communicator_.Issue(what, calls, deadline);
  // If operations are deferred, a later call returns the errors of this one.
  if (!issued.ok() || deferred_) return issued;
  return FinishOperation(what, deadline);
}

Status NcclGroup::Finish(Deadline deadline) {
  return FinishOperation("all that was begun", deadline);
}

Status NcclGroup::FinishOperation(const std::string& what, Deadline deadline) {
  // NCCL's calls only queue work on the stream. An event behind that work tells when the GPU has
  // done it.
  Status recorded = stream_->Record(*finished_);
  if (!recorded.ok()) return recorded;
  return communicator_.Until(
      what, [this] { return finished_->Fired(); }, deadline);
}

Status NcclGroup::AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                            Deadline deadline) {
  if (Status usable = Usable(nullptr); !usable.ok()) return usable;
  auto reduction = NcclReductionOf(type, op);
  if (!reduction.ok()) return reduction.status();
  if (count == 0) return {};
  return Run(
      Sentence("allreduce", count, NameOf(type)),
      [&](NcclComm comm) {
        return nccl_->AllReduce(in, out, count, reduction->type, reduction->op, comm,
                                stream_->handle());
      },
      deadline);
}

Status NcclGroup::Average(const void* in, void* out, size_t count, DataType type,
                          Deadline deadline) {
  if (Status usable = Usable(nullptr); !usable.ok()) return usable;
  auto reduction = NcclAverageOf(type);
  if (!reduction.ok()) return reduction.status();
  if (count == 0) return {};
  return Run(
      Sentence("average", count, NameOf(type)),
      [&](NcclComm comm) {
        return nccl_->AllReduce(in, out, count, reduction->type, reduction->op, comm,
                                stream_->handle());
      },
      deadline);
}

Result<bool> NcclGroup::Poll(const std::string& what, const Event& event, Deadline deadline,
                             Deadline begin) {
  return communicator_.Poll(
      what, [&event] { return event.Fired(); }, deadline, begin);
}

Status NcclGroup::Scale(const void* in, void* out, size_t count, DataType type, double factor) {
  const Copy copy = {in, out, count * SizeOf(type)};
  return copies_->Run({&copy, 1}, type, factor, *stream_);
}

/// NCCL has no barrier. An allreduce of one int32 is one: no rank has the result before all ranks
/// have come. It is waited for even if operations are deferred.
Status NcclGroup::Barrier(Deadline deadline) {
  if (Status usable = Usable(nullptr); !usable.ok()) return usable;
  const std::string what = "the barrier";
  Status issued = communicator_.Issue(
      what,
      [&](NcclComm comm) {
        return nccl_->AllReduce(barrier_->data(), barrier_->data(), 1, NcclType::kInt32,
                                NcclOp::kMax, comm, stream_->handle());
      },
      deadline);
  return issued.ok() ? FinishOperation(what, deadline) : issued;
}

Status NcclGroup::AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                            Deadline deadline) {
  if (Status usable = Usable(&bytes); !usable.ok()) return usable;
  if (Sum(bytes) == 0) return {};
  return Run(
      Sentence("allgather", Sum(bytes), "bytes"),
      [&](NcclComm comm) {
        const CudaStream stream = stream_->handle();
        // If the lengths differ, each rank in turn broadcasts its part into its place in `out`. A
        // rank's own part comes from `in`.
        if (AllEqual(bytes)) return nccl_->AllGather(in, out, bytes[0], kByte, comm, stream);
        NcclResult result = kNcclSuccess;
        size_t offset = 0;
        for (int root = 0; root < ranks() && result == kNcclSuccess; ++root) {
          const size_t length = bytes[static_cast<size_t>(root)];
          std::byte* const to = At(out, offset);
          const void* const from = root == rank() ? in : to;
          if (length > 0) result = nccl_->Broadcast(from, to, length, kByte, root, comm, stream);
          offset += length;
        }
        return result;
      },
      deadline);
}

Status NcclGroup::Broadcast(void* data, size_t bytes, int root, Deadline deadline) {
  if (Status usable = Usable(nullptr); !usable.ok()) return usable;
  if (root < 0 || root >= ranks()) {
    return {Code::kInvalidArgument, "there is no rank " + std::to_string(root) + " of " +
                                        std::to_string(ranks()) + " to broadcast from"};
  }
  if (bytes == 0) return {};
  return Run(
      Sentence("broadcast", bytes, "bytes"),
      [&](NcclComm comm) {
        return nccl_->Broadcast(data, data, bytes, kByte, root, comm, stream_->handle());
      },
      deadline);
}

Status NcclGroup::ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                                DataType type, ReduceOp op, Deadline deadline) {
  if (Status usable = Usable(&counts); !usable.ok()) return usable;
  auto reduction = NcclReductionOf(type, op);
  if (!reduction.ok()) return reduction.status();
  if (Sum(counts) == 0) return {};
  return Run(
      Sentence("reducescatter", Sum(counts), NameOf(type)),
      [&](NcclComm comm) {
        const auto [nccl_type, nccl_op] = *reduction;
        const CudaStream stream = stream_->handle();
        // If the lengths differ, there is one reduction for each rank, with that rank as its root.
        if (AllEqual(counts)) {
          return nccl_->ReduceScatter(in, out, counts[0], nccl_type, nccl_op, comm, stream);
        }
        NcclResult result = kNcclSuccess;
        size_t offset = 0;
        for (int root = 0; root < ranks() && result == kNcclSuccess; ++root) {
          const size_t count = counts[static_cast<size_t>(root)];
          const void* const from = At(in, offset * SizeOf(type));
          if (count > 0) {
            result = nccl_->Reduce(from, out, count, nccl_type, nccl_op, root, comm, stream);
          }
          offset += count;
        }
        return result;
      },
      deadline);
}

Status NcclGroup::AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                           const std::vector<size_t>& received, Deadline deadline) {
  if (Status usable = Usable(&sent); !usable.ok()) return usable;
  if (Status usable = Usable(&received); !usable.ok()) return usable;
  return Run(
      Sentence("alltoall", Sum(sent), "bytes"),
      [&](NcclComm comm) {
        const CudaStream stream = stream_->handle();
        NcclResult result = kNcclSuccess;
        size_t from = 0;
        size_t to = 0;
        // NCCL has no all-to-all. Sends and receives within one NCCL group run at the same time, so
        // their order cannot make two ranks wait for each other.
        for (int peer = 0; peer < ranks() && result == kNcclSuccess; ++peer) {
          const size_t sending = sent[static_cast<size_t>(peer)];
          const size_t receiving = received[static_cast<size_t>(peer)];
          if (sending > 0) {
            result = nccl_->Send(At(in, from), sending, kByte, peer, comm, stream);
          }
          if (receiving > 0 && result == kNcclSuccess) {
            result = nccl_->Recv(At(out, to), receiving, kByte, peer, comm, stream);
          }
          from += sending;
          to += receiving;
        }
        return result;
      },
      deadline);
}

}  // namespace tony::collective
