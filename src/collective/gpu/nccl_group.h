// Collective operations among ranks that have one GPU each, through NCCL.
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

/// All data is in the memory of the rank's GPU, or in memory that this GPU can reach. Operations
/// run in order on a stream of the group's own, so that the framework's streams go on meanwhile:
///
///   framework's stream ── event ──▶ WaitFor() … operation … Done() ── event ──▶ framework's stream
///
/// An operation returns when it is done; after Defer(true) it returns as soon as the GPU has it.
/// Not thread safe: owned by one rank's data thread. Only Fail() and Leave() may be called from
/// another thread.
class NcclGroup : public Group {
 public:
  struct Options {
    /// Size of the fusion buffer in bytes; the same on all ranks. A tensor larger than half of it
    /// is reduced where it lies.
    size_t fusion_bytes = size_t{64} << 20;
    std::string_view ptx = CopyKernelPtx();  ///< for BatchedCopy
  };

  /// Makes the group of `place.ranks`: rank n of the group is the nth of them. Errors name ranks by
  /// the numbers in `place.ranks`. Internal, ResourceExhausted – CUDA refuses a stream, an event or
  /// memory.
  static Result<std::unique_ptr<NcclGroup>> Create(std::shared_ptr<const NcclLibrary> nccl,
                                                   std::shared_ptr<Device> device,
                                                   Communicator::Membership membership,
                                                   const Options& options);
  /// Waits a few seconds for deferred operations; after that they are aborted.
  ~NcclGroup() override;

  /// Waits until all ranks have connected; called before any operation. The codes are those of
  /// Communicator::Connect().
  Status Connect(Deadline deadline);

  /// Later operations of this group read and write only after `ready`, a cudaEvent_t, has fired.
  Status WaitFor(CudaEvent ready);
  /// Records and returns an event, for cudaStreamWaitEvent, that fires when all operations so far
  /// are done. The event belongs to the group, and the next call records it anew. A stream that
  /// waits already is not affected.
  Result<CudaEvent> Done();
  /// Whether operations return before they are done. If they do, a later call returns the errors of
  /// the GPU and of other ranks: Finish() at the latest.
  void Defer(bool defer) { deferred_ = defer; }
  /// Waits until all operations so far are done.
  Status Finish(Deadline deadline);
  /// Records `event`: it fires when all operations so far are done.
  Status Record(Event& event) { return stream_->Record(event); }
  /// Asks once, without waiting, whether an event that was recorded here has fired. The codes are
  /// those of Finish().
  Result<bool> Poll(const std::string& what, const Event& event, Deadline deadline, Deadline begin);
  /// Copies `count` elements of `in`, times `factor`, to `out`, which may be `in`. The call never
  /// waits for the GPU, also if Defer(true) was not called. FailedPrecondition – there is a factor,
  /// but no kernel.
  Status Scale(const void* in, void* out, size_t count, DataType type, double factor);
  /// Empty, or a sentence about what the group cannot do, for the start: BatchedCopy::limitation().
  const std::string& limitation() const { return copies_->limitation(); }

  /// More codes: InvalidArgument – int16 or uint16, which NCCL does not have. Here, in
  /// ReduceScatter() and in AllReduceFused(), kAverage is a reduction, too: see Average().
  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  /// Like AllReduce(), but NCCL divides by the number of ranks before it adds, so that float16
  /// cannot overflow. More codes: InvalidArgument – the type is not floating-point.
  Status Average(const void* in, void* out, size_t count, DataType type, Deadline deadline);
  /// The barrier is never deferred.
  Status Barrier(Deadline deadline) override;
  /// `out` gets all ranks' `in`, rank after rank, `bytes[n]` bytes from rank n. `in` may be its own
  /// place in `out`.
  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline deadline) override;
  /// Copies `data` of `root` to all other ranks.
  Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) override;
  /// `out` gets this rank's part of the reduced vector. The parts lie rank after rank; that of rank
  /// n has `counts[n]` elements.
  Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                       ReduceOp op, Deadline deadline) override;
  /// Sends `sent[n]` bytes of `in` to rank n and receives `received[n]` bytes from it into `out`.
  /// Both vectors lie rank after rank.
  Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                  const std::vector<size_t>& received, Deadline deadline) override;
  /// More codes: FailedPrecondition – there is a factor, but no kernel.
  Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) override;

  void Fail(int rank) override { communicator_.Fail(rank); }
  /// From `when` on, no operation is waited for any more; each fails with `why`. Thread safe.
  void Fail(const std::string& why, Deadline when) { communicator_.Fail(why, when); }
  /// Later calls on this rank fail. The holder of the ranks' connections tells the other ranks:
  /// NCCL has no message for it.
  void Leave() override { left_.store(true, std::memory_order_release); }
  int rank() const override { return communicator_.position(); }
  int ranks() const override { return communicator_.ranks(); }

  /// The group's stream, for copies between operations.
  Stream& stream() { return *stream_; }

 private:
  NcclGroup(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<Device> device,
            Communicator::Membership membership);
  using Tensors = std::vector<FusionBuffer::Tensor>;
  /// Splits the tensors into windows; one NCCL call reduces each window. All ranks get the same
  /// windows.
  std::vector<Tensors> WindowsOf(const Fusion& fusion) const;
  Status ReduceWindow(const Tensors& window, const Fusion& fusion, ReduceOp op, Deadline deadline);
  /// Makes NCCL's calls on the stream; waits for them unless operations are deferred.
  Status Run(const std::string& what, const std::function<NcclResult(NcclComm)>& calls,
             Deadline deadline);
  Status FinishOperation(const std::string& what, Deadline deadline);
  /// Ok, or why no operation is possible. `lengths`: if not null, has to have one length for each
  /// rank.
  Status Usable(const std::vector<size_t>* lengths) const;

  const std::shared_ptr<const NcclLibrary> nccl_;
  const std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> finished_;
  std::unique_ptr<Event> done_;
  std::unique_ptr<DeviceMemory> barrier_;  ///< one int32
  std::unique_ptr<BatchedCopy> copies_;
  std::unique_ptr<FusionBuffer> fusion_;
  Communicator communicator_;  ///< destroyed first: its operations run on `stream_`
  bool deferred_ = false;
  std::atomic<bool> left_{false};
};

}  // namespace tony::collective
