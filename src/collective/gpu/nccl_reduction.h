// Maps element types and reductions to NCCL's.
#pragma once

#include "collective/arithmetic/data_type.h"
#include "collective/base/status.h"
#include "collective/gpu/nccl_types.h"

namespace tony::collective {

struct NcclReduction {
  NcclType type;
  NcclOp op;
};

/// NCCL's type and operation for a reduction. Bool, whose elements are 0 or 1, is reduced as uint8
/// by maximum ("or") or minimum ("and"). kAverage gives NcclAverageOf(). InvalidArgument – int16 or
/// uint16, which NCCL does not have.
Result<NcclReduction> NcclReductionOf(DataType type, ReduceOp op);

/// NCCL's type and operation for the average over the ranks. InvalidArgument – the type is not
/// floating-point: NCCL's versions round integers in different ways.
Result<NcclReduction> NcclAverageOf(DataType type);

}  // namespace tony::collective
