// A group of ranks with a GPU each, through NCCL.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/gpu/batched_copy.h"
#include "collective/gpu/communicator.h"
#include "collective/gpu/copy_kernel_ptx.h"
#include "collective/gpu/device_memory.h"
#include "collective/gpu/fusion_buffer.h"
#include "collective/gpu/stream.h"
#include "collective/group/group.h"

namespace tony::collective {

/// All data is in memory of the GPU, or of one that it can reach. Operations run in order on a
/// stream of the group's own, so that the framework's go on meanwhile:
///
///   framework's stream ── event ──▶ WaitFor() … operation … Done() ── event ──▶ framework's stream
///
/// An operation returns when it is done; after Defer(true) as soon as the GPU has it.
class NcclGroup : public Group {
 public:
  struct Options {
    /// Of the fusion buffer, the same at all ranks. What is larger than half of it is reduced where
    /// it lies.
    size_t fusion_bytes = size_t{64} << 20;
    std::string_view ptx = CopyKernelPtx();  ///< for BatchedCopy
  };

  /// Of `place.ranks`, which are named in errors, rank n of the group is the nth.
  /// Internal, ResourceExhausted: CUDA refuses a stream, an event or memory.
  static Result<std::unique_ptr<NcclGroup>> Create(std::shared_ptr<const NcclLibrary> nccl,
                                                   std::shared_ptr<Device> device,
                                                   Communicator::Place place,
                                                   const Options& options);
  /// What has been deferred has a few seconds to come to its end, and is given up then.
  ~NcclGroup() override;

  /// Before any operation: until all ranks have come. Codes as of Communicator::Connect().
  Status Connect(Deadline deadline);

  /// What follows reads and writes only after the event, a cudaEvent_t, has fired.
  Status WaitFor(CudaEvent ready);
  /// An event that fires when all so far is done, for cudaStreamWaitEvent. It is the group's, and
  /// is recorded anew by the next call, which does not matter to who waits already.
  Result<CudaEvent> Done();
  /// Whether operations return before they are done. Errors of the GPU and of other ranks are then
  /// told by what is called later: Finish() at the latest.
  void Defer(bool defer) { deferred_ = defer; }
  /// Until all so far is done.
  Status Finish(Deadline deadline);
  /// `event` fires when all so far is done.
  Status Record(Event& event) { return stream_->Record(event); }
  /// One look: whether an event that was recorded here has fired. Codes as of Finish().
  Result<bool> Look(const std::string& what, const Event& event, Deadline deadline, Deadline begin);
  /// `count` elements of `in`, times `factor`, to `out`, which may be `in`; deferred in any case.
  /// FailedPrecondition: a factor, but no kernel.
  Status Scale(const void* in, void* out, size_t count, DataType type, double factor);
  /// Empty, or what it cannot do, to be told at the start: BatchedCopy::limitation().
  const std::string& limitation() const { return copies_->limitation(); }

  /// InvalidArgument besides: int16 and uint16, which NCCL does not have. For this, reducescatter
  /// and fused tensors kAverage is a reduction as well: see Average().
  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  /// As AllReduce(), the sum divided by the number of ranks, by NCCL: float16 cannot overflow.
  /// InvalidArgument besides: a type that is not floating-point.
  Status Average(const void* in, void* out, size_t count, DataType type, Deadline deadline);
  /// Is never deferred.
  Status Barrier(Deadline deadline) override;
  /// `out`: all ranks' `in`, rank after rank, of `bytes` each. `in` may be its own place in `out`.
  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline deadline) override;
  /// `data` of `root` to all others.
  Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) override;
  /// `out`: of the reduced vector this rank's part; rank n has `counts[n]` elements, rank after
  /// rank.
  Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                       ReduceOp op, Deadline deadline) override;
  /// `sent[n]` bytes go to rank n, `received[n]` come from it; both vectors rank after rank.
  Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                  const std::vector<size_t>& received, Deadline deadline) override;
  /// FailedPrecondition besides: a factor, but no kernel.
  Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) override;

  void Fail(int rank) override { communicator_.Fail(rank); }
  /// From `when` on nothing is waited for any more: `why`. Thread safe.
  void Fail(const std::string& why, Deadline when) { communicator_.Fail(why, when); }
  /// Others are told by whoever holds the connections: NCCL has no word for it.
  void Leave() override { left_.store(true, std::memory_order_release); }
  int rank() const override { return communicator_.position(); }
  int ranks() const override { return communicator_.ranks(); }

  /// For copies that belong between operations.
  Stream& stream() { return *stream_; }

 private:
  NcclGroup(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
            Communicator::Place place);
  using Tensors = std::vector<FusionBuffer::Tensor>;
  /// What is reduced at once. All ranks come to the same.
  std::vector<Tensors> WindowsOf(const Fusion& fusion) const;
  Status ReduceWindow(const Tensors& window, const Fusion& fusion, ReduceOp op, Deadline deadline);
  /// Makes NCCL's calls on the stream, and waits for them unless they are deferred.
  Status Run(const std::string& what, const std::function<NcclResult(NcclComm)>& calls,
             Deadline deadline);
  Status FinishOperation(const std::string& what, Deadline deadline);
  /// Ok, or why no operation can be done.
  Status Usable(const std::vector<size_t>* lengths) const;

  const std::shared_ptr<const NcclLibrary> nccl_;
  const std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> finished_;
  std::unique_ptr<Event> done_;
  std::unique_ptr<DeviceMemory> barrier_;  ///< one int32
  std::unique_ptr<BatchedCopy> copies_;
  std::unique_ptr<FusionBuffer> fusion_;
  Communicator communicator_;  ///< goes first: what runs on the stream is its
  bool deferred_ = false;
  std::atomic<bool> left_{false};
};

}  // namespace tony::collective
