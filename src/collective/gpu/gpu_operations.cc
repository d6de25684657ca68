// Turns the shapes and splits of a decision into element counts and byte lengths for the group.
// Results of allgather, reducescatter and all-to-all lie in the library's own GPU memory, since
// only the ranks together know their sizes.
#include "collective/gpu/gpu_operations.h"

#include <utility>

#include "collective/arithmetic/fusion.h"
#include "collective/gpu/device_memory.h"
#include "collective/gpu/nccl_reduction.h"
#include "collective/request/factors.h"
#include "collective/request/rows.h"

namespace tony::collective {
namespace {

/// NCCL's reduction, and the factor to apply to its result.
struct Reduction {
  ReduceOp op;
  double after;
};

Reduction ReductionOf(const Kind& kind, size_t ranks) {
  if (kind.reduce != ReduceOp::kAverage) return {kind.reduce, kind.postscale};
  if (IsFloating(kind.type)) return {ReduceOp::kAverage, kind.postscale};
  return {ReduceOp::kSum, FactorAfter(kind, ranks)};
}

size_t BytesOf(const Tensor& tensor) {
  return AsSize(tensor.request.elements()) * SizeOf(tensor.request.kind.type);
}

}  // namespace

Status GpuOperations::Refusal(const Kind& kind, const std::string& limitation) {
  if (!Reduces(kind.operation)) return {};
  if (kind.reduce == ReduceOp::kAdasum) {
    return {Code::kInvalidArgument,
            "Adasum is not computed on GPUs, since NCCL has no such reduction; submit the tensors "
            "from the CPU's memory"};
  }
  // The number of ranks does not matter here: it only decides the factor's value, not whether there
  // is one. So any number does.
  const Reduction reduction = ReductionOf(kind, 2);
  if (auto possible = NcclReductionOf(kind.type, reduction.op); !possible.ok()) {
    return possible.status();
  }
  const bool scaled = kind.prescale != 1 || reduction.after != 1;
  if (!scaled || kind.type == DataType::kBool || limitation.empty()) return {};
  return {Code::kFailedPrecondition,
          "values on GPUs cannot be multiplied, as a factor or an "
          "average of integers needs: " +
              limitation + "; multiply them in the framework"};
}

Result<std::shared_ptr<std::byte[]>> GpuOperations::Allocate(size_t bytes) {
  if (bytes == 0) return std::shared_ptr<std::byte[]>();
  auto memory = DeviceMemory::Allocate(device_, bytes);
  if (!memory.ok()) {
    return Status(memory.status().code(),
                  memory.status().message() + ", besides what the framework has taken for itself");
  }
  auto* const data = static_cast<std::byte*>((*memory)->data());
  // The aliasing pointer keeps the DeviceMemory alive, which frees the bytes at its end.
  return std::shared_ptr<std::byte[]>(std::shared_ptr<DeviceMemory>(std::move(*memory)), data);
}

Status GpuOperations::MakeOutput(const Tensor& tensor, size_t rows, Output& output) {
  output.shape = tensor.request.shape;
  output.shape[0] = static_cast<int64_t>(rows);
  const Request& request = tensor.request;
  auto data = Allocate(rows * RowElements(request) * SizeOf(request.kind.type));
  if (data.ok()) output.data = std::move(*data);
  return data.status();
}

Status GpuOperations::Begin(const Decision& decision, const std::vector<Tensor>& tensors,
                            Results& results, Deadline deadline) {
  results.outputs.resize(tensors.size());
  for (const Tensor& tensor : tensors) {
    // The group's stream waits for the framework's stream, which may still compute the tensor; the
    // host does not wait.
    if (!tensor.submitted() || tensor.gpu.ready == nullptr) continue;
    if (Status waits = group_.WaitFor(tensor.gpu.ready); !waits.ok()) return waits;
  }
  switch (decision.kind.operation) {
    case Operation::kAllReduce:
      return AllReduce(decision, tensors, deadline);
    case Operation::kAllGather:
      return AllGather(decision.tensors[0], tensors[0], results, deadline);
    case Operation::kBroadcast:
      return Broadcast(decision.kind, tensors[0], deadline);
    case Operation::kReduceScatter:
      return ReduceScatter(decision.kind, tensors[0], results, deadline);
    case Operation::kAllToAll:
      return AllToAll(decision.tensors[0], tensors[0], results, deadline);
    case Operation::kBarrier:
    case Operation::kAddSet:
    case Operation::kRemoveSet:
      break;  // they concern no tensor on a device
  }
  return {};
}

Status GpuOperations::AllReduce(const Decision& decision, const std::vector<Tensor>& tensors,
                                Deadline deadline) {
  const Kind& kind = decision.kind;
  // The number of elements comes from the decision, since a rank that has joined has no request of
  // its own.
  std::vector<Fusion::Tensor> all;
  for (size_t i = 0; i < tensors.size(); ++i) {
    all.push_back({.in = tensors[i].in,
                   .out = tensors[i].out,
                   .count = AsSize(decision.tensors[i].elements)});
  }
  const auto [op, after] = ReductionOf(kind, ranks());
  const Fusion fusion(std::move(all), kind.type, kind.prescale, after);
  return group_.AllReduceFused(fusion, op, deadline);
}

Status GpuOperations::AllGather(const Decided& decided, const Tensor& tensor, Results& results,
                                Deadline deadline) {
  const size_t row = RowElements(tensor.request) * SizeOf(tensor.request.kind.type);
  std::vector<size_t> bytes;
  size_t rows = 0;
  for (const int64_t length : decided.lengths) {
    bytes.push_back(AsSize(length) * row);
    rows += AsSize(length);
  }
  Output& output = results.outputs[0];
  if (Status made = MakeOutput(tensor, rows, output); !made.ok()) return made;
  return group_.AllGather(tensor.in, output.data.get(), bytes, deadline);
}

Status GpuOperations::Broadcast(const Kind& kind, const Tensor& tensor, Deadline deadline) {
  return group_.Broadcast(tensor.out, BytesOf(tensor), kind.root, deadline);
}

Status GpuOperations::ReduceScatter(const Kind& kind, const Tensor& tensor, Results& results,
                                    Deadline deadline) {
  const size_t rows = AsSize(tensor.request.shape[0]);
  const size_t row = RowElements(tensor.request);
  std::vector<size_t> counts;
  for (size_t rank = 0; rank < ranks(); ++rank) counts.push_back(RowsOf(rows, rank, ranks()) * row);
  Output& output = results.outputs[0];
  if (Status made = MakeOutput(tensor, RowsOf(rows, me(), ranks()), output); !made.ok()) {
    return made;
  }
  const auto [op, after] = ReductionOf(kind, ranks());
  const void* in = tensor.in;
  // The prescale factor cannot be applied in place, since `in` belongs to the caller. The scaled
  // copy lives until the operation is done.
  if (kind.prescale != 1) {
    auto scaled = Allocate(BytesOf(tensor));
    if (!scaled.ok()) return scaled.status();
    Status begun = group_.Scale(in, scaled->get(), rows * row, kind.type, kind.prescale);
    if (!begun.ok()) return begun;
    in = scaled->get();
    results.kept.push_back(std::move(*scaled));
  }
  std::byte* const out = output.data.get();
  Status done = group_.ReduceScatter(in, out, counts, kind.type, op, deadline);
  if (!done.ok() || after == 1) return done;
  return group_.Scale(out, out, counts[me()], kind.type, after);
}

Status GpuOperations::AllToAll(const Decided& decided, const Tensor& tensor, Results& results,
                               Deadline deadline) {
  const size_t row = RowElements(tensor.request) * SizeOf(tensor.request.kind.type);
  RowsToAll all(decided.lengths, me(), ranks(), row);
  Output& output = results.outputs[0];
  if (Status made = MakeOutput(tensor, all.rows, output); !made.ok()) return made;
  output.splits = std::move(all.received_rows);
  return group_.AllToAll(tensor.in, all.sent, output.data.get(), all.received, deadline);
}

}  // namespace tony::collective
