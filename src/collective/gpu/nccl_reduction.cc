// Maps the types by a switch, so that the compiler reports a new type without a mapping. A bool's
// sum is "or" and its product is "and".
#include "collective/gpu/nccl_reduction.h"

#include <optional>
#include <string>

namespace tony::collective {
namespace {

std::optional<NcclType> NcclTypeOf(DataType type) {
  switch (type) {
    case DataType::kUint8:
    case DataType::kBool:
      return NcclType::kUint8;
    case DataType::kInt8:
      return NcclType::kInt8;
    case DataType::kUint32:
      return NcclType::kUint32;
    case DataType::kInt32:
      return NcclType::kInt32;
    case DataType::kUint64:
      return NcclType::kUint64;
    case DataType::kInt64:
      return NcclType::kInt64;
    case DataType::kFloat16:
      return NcclType::kFloat16;
    case DataType::kBfloat16:
      return NcclType::kBfloat16;
    case DataType::kFloat32:
      return NcclType::kFloat32;
    case DataType::kFloat64:
      return NcclType::kFloat64;
    case DataType::kUint16:
    case DataType::kInt16:
      return std::nullopt;
  }
  return std::nullopt;
}

NcclOp NcclOpOf(DataType type, ReduceOp op) {
  const bool boolean = type == DataType::kBool;
  switch (op) {
    case ReduceOp::kSum:
      return boolean ? NcclOp::kMax : NcclOp::kSum;
    case ReduceOp::kProduct:
      return boolean ? NcclOp::kMin : NcclOp::kProduct;
    case ReduceOp::kMin:
      return NcclOp::kMin;
    case ReduceOp::kMax:
      return NcclOp::kMax;
    case ReduceOp::kAverage:
    case ReduceOp::kAdasum:
      break;  // no reduction of a group
  }
  return NcclOp::kSum;
}

}  // namespace

Result<NcclReduction> NcclReductionOf(DataType type, ReduceOp op) {
  if (op == ReduceOp::kAverage) return NcclAverageOf(type);
  const auto nccl_type = NcclTypeOf(type);
  if (!nccl_type) {
    return Status(Code::kInvalidArgument, "NCCL cannot reduce " + std::string(NameOf(type)) +
                                              "; cast it to int32, or reduce it on CPUs");
  }
  if (static_cast<size_t>(op) >= kReduceOps) {
    return Status(Code::kInvalidArgument, "a group does not reduce by " + std::string(NameOf(op)));
  }
  return NcclReduction{*nccl_type, NcclOpOf(type, op)};
}

Result<NcclReduction> NcclAverageOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
      return NcclReduction{*NcclTypeOf(type), NcclOp::kAverage};
    default:
      return Status(Code::kInvalidArgument,
                    "the average of " + std::string(NameOf(type)) +
                        " is not taken on GPUs; take the sum and divide it");
  }
}

}  // namespace tony::collective
