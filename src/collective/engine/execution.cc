// A rank that cannot take part in an operation, for lack of memory or of the tensor, fails the
// group: otherwise the others would wait for it until their deadline.
#include "collective/engine/execution.h"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "collective/arithmetic/kernels.h"
#include "collective/arithmetic/neutral.h"
#include "collective/request/factors.h"
#include "collective/request/rows.h"

namespace tony::collective {
namespace {

/// Copies `count` elements, multiplied by `factor`. The factor 1 copies the bits: multiplied as
/// float64, large integers would be rounded.
void CopyScaled(void* out, const void* in, size_t count, DataType type, double factor) {
  if (factor != 1) return BestKernels().Scale(type)(out, in, count, factor);
  if (count > 0 && out != in) std::memcpy(out, in, count * SizeOf(type));
}

/// An output of `rows` rows. Its memory is uninitialized: the group fills it.
Output MakeOutput(const Request& request, size_t rows) {
  Output output;
  output.shape = request.shape;
  output.shape[0] = static_cast<int64_t>(rows);
  // std::make_shared would not align the memory for all element types.
  output.data.reset(new std::byte[rows * RowElements(request) * SizeOf(request.kind.type)]);
  return output;
}

}  // namespace

Status Execution::Run(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                      Deadline deadline) {
  if (!failure_.ok()) return failure_;
  Status failed;
  try {
    for (size_t i = 0; i < tensors.size(); ++i) {
      // A joined rank takes part without the tensor. A rank that has neither has given it up
      // (Engine::FailWaiting()).
      if (tensors[i].submitted() || tensors[i].joined) continue;
      failed = {Code::kAborted, "tensor '" + decision.tensors[i].name +
                                    "' is decided on, but rank " + std::to_string(group_.rank()) +
                                    " has given it up"};
    }
    if (failed.ok()) {
      Status done = Choose(decision, tensors, outputs, deadline);
      if (done.ok() || done.code() == Code::kInvalidArgument) return done;
      return failure_ = {done.code(), done.message() + ", in " + decision.Text()};
    }
  } catch (const std::bad_alloc&) {
    failed = {Code::kResourceExhausted, "rank " + std::to_string(group_.rank()) +
                                            " has no memory for the result of '" +
                                            decision.tensors.front().name + "' and " +
                                            std::to_string(decision.tensors.size() - 1) + " more"};
  }
  // The other ranks are in the operation already, or will be: Fail() ends it for them and names
  // this rank.
  group_.Fail(group_.rank());
  failure_ = failed;
  return failed;
}

void Execution::RunOnGpu(const Decision& decision, Tensors tensors,
                         std::chrono::milliseconds patience) {
  if (failure_.ok()) return gpu_.Run(decision, std::move(tensors), patience);
  for (const Tensor& tensor : tensors) tensor.Tell(failure_, {});
}

Status Execution::Choose(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                         Deadline deadline) {
  switch (decision.kind.operation) {
    case Operation::kAllReduce:
      return AllReduce(decision, tensors, deadline);
    case Operation::kAllGather:
      return AllGather(decision, tensors, outputs, deadline);
    case Operation::kBroadcast: {
      const Request& request = tensors[0].request;
      const size_t bytes = AsSize(request.elements()) * SizeOf(request.kind.type);
      return group_.Broadcast(tensors[0].out, bytes, decision.kind.root, deadline);
    }
    case Operation::kReduceScatter:
      return ReduceScatter(decision, tensors, outputs, deadline);
    case Operation::kAllToAll:
      return AllToAll(decision, tensors[0], outputs[0], deadline);
    case Operation::kBarrier:
      return group_.Barrier(deadline);
    case Operation::kAddSet:
    case Operation::kRemoveSet:
      break;  // process_sets.h handles these
  }
  return {};
}

Status Execution::AllReduce(const Decision& decision, const Tensors& tensors, Deadline deadline) {
  const Kind& kind = decision.kind;
  const uint64_t neutral = NeutralBits(kind.type, kind.reduce);
  // A joined rank has no tensors: null pointers with the decision's counts, for which the neutral
  // element stands in.
  std::vector<Fusion::Tensor> all;
  for (size_t i = 0; i < tensors.size(); ++i) {
    all.push_back({.in = tensors[i].in,
                   .out = tensors[i].out,
                   .count = AsSize(decision.tensors[i].elements),
                   .neutral = neutral});
  }
  const Fusion fusion(std::move(all), kind.type, kind.prescale, FactorAfter(kind, ranks()));
  if (kind.reduce == ReduceOp::kAdasum) return Adasum(fusion, deadline);
  const ReduceOp op = kind.reduce == ReduceOp::kAverage ? ReduceOp::kSum : kind.reduce;
  return group_.AllReduceFused(fusion, op, deadline);
}

/// Gathers the tensors into one vector, of which each tensor has Adasum factors of its own.
Status Execution::Adasum(const Fusion& fusion, Deadline deadline) {
  std::vector<size_t> counts;
  for (const Fusion::Tensor& tensor : fusion.tensors()) counts.push_back(tensor.count);
  std::byte* const vector = fusion_.Take(fusion.bytes());
  fusion.Gather(0, fusion.bytes(), vector);
  Status done = adasum_.Reduce(vector, vector, counts, fusion.type(), deadline);
  if (done.ok()) fusion.Scatter(0, fusion.bytes(), vector, false);
  return done;
}

Status Execution::AllGather(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                            Deadline deadline) {
  const size_t element = SizeOf(decision.kind.type);
  // Bytes of tensor `i` at `rank`.
  const auto bytes_of = [&](size_t i, size_t rank) {
    return AsSize(decision.tensors[i].lengths[rank]) * RowElements(tensors[i].request) * element;
  };
  std::vector<size_t> bytes(ranks());
  size_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    size_t rows = 0;
    for (const int64_t length : decision.tensors[i].lengths) rows += AsSize(length);
    outputs[i] = MakeOutput(tensors[i].request, rows);
    for (size_t rank = 0; rank < ranks(); ++rank) bytes[rank] += bytes_of(i, rank);
    total += rows * RowElements(tensors[i].request) * element;
  }
  if (tensors.size() == 1) {
    return group_.AllGather(tensors[0].in, outputs[0].data.get(), bytes, deadline);
  }
  // The fused vector lies rank after rank, and within a rank tensor after tensor; the outputs lie
  // tensor after tensor. So the result is copied once more, into the other order.
  std::byte* const all = fusion_.Take(total);
  std::byte* own = all;
  for (size_t rank = 0; rank < me(); ++rank) own += bytes[rank];
  std::byte* at = own;
  for (size_t i = 0; i < tensors.size(); at += bytes_of(i++, me())) {
    CopyScaled(at, tensors[i].in, bytes_of(i, me()), DataType::kUint8, 1);
  }
  Status done = group_.AllGather(own, all, bytes, deadline);
  if (!done.ok()) return done;
  std::vector<std::byte*> to;
  for (const Output& output : outputs) to.push_back(output.data.get());
  at = all;
  for (size_t rank = 0; rank < ranks(); ++rank) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      CopyScaled(to[i], at, bytes_of(i, rank), DataType::kUint8, 1);
      to[i] += bytes_of(i, rank);
      at += bytes_of(i, rank);
    }
  }
  return {};
}

Status Execution::ReduceScatterOne(const Kind& kind, const Tensor& tensor, Output& output,
                                   Deadline deadline) {
  const size_t rows = AsSize(tensor.request.shape[0]);
  const size_t row = RowElements(tensor.request);
  std::vector<size_t> counts;
  for (size_t rank = 0; rank < ranks(); ++rank) counts.push_back(RowsOf(rows, rank, ranks()) * row);
  output = MakeOutput(tensor.request, RowsOf(rows, me(), ranks()));
  const void* in = tensor.in;
  if (kind.prescale != 1) {
    std::byte* const scaled = fusion_.Take(rows * row * SizeOf(kind.type));
    CopyScaled(scaled, in, rows * row, kind.type, kind.prescale);
    in = scaled;
  }
  const ReduceOp op = kind.reduce == ReduceOp::kAverage ? ReduceOp::kSum : kind.reduce;
  std::byte* const out = output.data.get();
  Status done = group_.ReduceScatter(in, out, counts, kind.type, op, deadline);
  if (done.ok()) CopyScaled(out, out, counts[me()], kind.type, FactorAfter(kind, ranks()));
  return done;
}

/// The fused vector has one part for each rank, and in each part the rows of all tensors for that
/// rank. A rank's result then is one contiguous part.
Status Execution::ReduceScatter(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                                Deadline deadline) {
  const Kind& kind = decision.kind;
  if (tensors.size() == 1) return ReduceScatterOne(kind, tensors[0], outputs[0], deadline);
  const size_t element = SizeOf(kind.type);
  const auto count_of = [&](size_t i, size_t rank) {
    const Request& request = tensors[i].request;
    return RowsOf(AsSize(request.shape[0]), rank, ranks()) * RowElements(request);
  };
  size_t total = 0;
  for (const Tensor& tensor : tensors) total += AsSize(tensor.request.elements());
  std::vector<size_t> counts(ranks());
  std::vector<const std::byte*> from;
  for (const Tensor& tensor : tensors) from.push_back(static_cast<const std::byte*>(tensor.in));
  std::byte* const fused = fusion_.Take(total * element);
  std::byte* at = fused;
  for (size_t rank = 0; rank < ranks(); ++rank) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const size_t count = count_of(i, rank);
      CopyScaled(at, from[i], count, kind.type, kind.prescale);
      from[i] += count * element;
      at += count * element;
      counts[rank] += count;
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    outputs[i] =
        MakeOutput(tensors[i].request, RowsOf(AsSize(tensors[i].request.shape[0]), me(), ranks()));
  }
  std::byte* const result = fused_result_.Take(counts[me()] * element);
  const ReduceOp op = kind.reduce == ReduceOp::kAverage ? ReduceOp::kSum : kind.reduce;
  Status done = group_.ReduceScatter(fused, result, counts, kind.type, op, deadline);
  at = result;
  for (size_t i = 0; done.ok() && i < tensors.size(); at += count_of(i++, me()) * element) {
    CopyScaled(outputs[i].data.get(), at, count_of(i, me()), kind.type, FactorAfter(kind, ranks()));
  }
  return done;
}

Status Execution::AllToAll(const Decision& decision, const Tensor& tensor, Output& output,
                           Deadline deadline) {
  const size_t row = RowElements(tensor.request) * SizeOf(decision.kind.type);
  // `lengths` has the splits of all ranks, so each rank knows what it receives without asking.
  RowsToAll all(decision.tensors[0].lengths, me(), ranks(), row);
  output = MakeOutput(tensor.request, all.rows);
  output.splits = std::move(all.received_rows);
  return group_.AllToAll(tensor.in, all.sent, output.data.get(), all.received, deadline);
}

}  // namespace tony::collective
