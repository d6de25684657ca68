// What NCCL has for our element types and operations.
#pragma once

#include "collective/arithmetic/data_type.h"
#include "collective/base/status.h"
#include "collective/gpu/nccl_types.h"

namespace tony::collective {

struct NcclReduction {
  NcclType type;
  NcclOp op;
};

/// Bool, whose elements are 0 or 1, is reduced by its maximum ("or") or minimum ("and") as uint8.
/// kAverage is NcclAverageOf().
/// InvalidArgument: int16 and uint16, which NCCL does not have.
Result<NcclReduction> NcclReductionOf(DataType type, ReduceOp op);

/// The average over the ranks, of floating-point types.
/// InvalidArgument: others, which NCCL's versions round in different ways.
Result<NcclReduction> NcclAverageOf(DataType type);

}  // namespace tony::collective
