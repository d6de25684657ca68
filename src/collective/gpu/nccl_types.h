// The part of NCCL's interface that tony uses, declared from its documentation, so that no header
// of NVIDIA's is needed.
//
// A test compares these declarations with the real header where it finds one.
#pragma once

#include <cstddef>

#include "collective/gpu/cuda_types.h"

struct ncclComm;

namespace tony::collective {

using NcclComm = ncclComm*;
using NcclResult = int;
inline constexpr NcclResult kNcclSuccess = 0;
inline constexpr NcclResult kNcclUnhandledCudaError = 1;
inline constexpr NcclResult kNcclSystemError = 2;
inline constexpr NcclResult kNcclInternalError = 3;
inline constexpr NcclResult kNcclInvalidArgument = 4;
inline constexpr NcclResult kNcclInvalidUsage = 5;
inline constexpr NcclResult kNcclRemoteError = 6;
inline constexpr NcclResult kNcclInProgress = 7;

enum class NcclType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};

enum class NcclOp : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

/// The id by which the ranks of a communicator find each other: the address at which one of them
/// listens.
struct NcclUniqueId {
  char bytes[128];
};

/// The configuration of NCCL 2.14. Later versions have more members behind these, and accept this
/// shorter one because `size` and `version` say what it is.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

/// The oldest NCCL that is accepted: the first with non-blocking communicators, whose calls return
/// at once, so that no call can hang.
inline constexpr int kNcclOldest = 21400;

/// One entry for each function: FUNCTION(member, symbol, parameters…). All return an NcclResult.
#define TONY_NCCL_FUNCTIONS(FUNCTION)                                                              \
  FUNCTION(GetUniqueId, ncclGetUniqueId, NcclUniqueId* id)                                         \
  FUNCTION(CommInitRankConfig, ncclCommInitRankConfig, NcclComm* comm, int ranks, NcclUniqueId id, \
           int rank, NcclConfig* config)                                                           \
  FUNCTION(CommFinalize, ncclCommFinalize, NcclComm comm)                                          \
  FUNCTION(CommDestroy, ncclCommDestroy, NcclComm comm)                                            \
  FUNCTION(CommAbort, ncclCommAbort, NcclComm comm)                                                \
  FUNCTION(CommGetAsyncError, ncclCommGetAsyncError, NcclComm comm, NcclResult* error)             \
  FUNCTION(GroupStart, ncclGroupStart)                                                             \
  FUNCTION(GroupEnd, ncclGroupEnd)                                                                 \
  FUNCTION(AllReduce, ncclAllReduce, const void* in, void* out, size_t count, NcclType type,       \
           NcclOp op, NcclComm comm, CudaStream stream)                                            \
  FUNCTION(Reduce, ncclReduce, const void* in, void* out, size_t count, NcclType type, NcclOp op,  \
           int root, NcclComm comm, CudaStream stream)                                             \
  FUNCTION(Broadcast, ncclBroadcast, const void* in, void* out, size_t count, NcclType type,       \
           int root, NcclComm comm, CudaStream stream)                                             \
  FUNCTION(ReduceScatter, ncclReduceScatter, const void* in, void* out, size_t count,              \
           NcclType type, NcclOp op, NcclComm comm, CudaStream stream)                             \
  FUNCTION(AllGather, ncclAllGather, const void* in, void* out, size_t count, NcclType type,       \
           NcclComm comm, CudaStream stream)                                                       \
  FUNCTION(Send, ncclSend, const void* in, size_t count, NcclType type, int to, NcclComm comm,     \
           CudaStream stream)                                                                      \
  FUNCTION(Recv, ncclRecv, void* out, size_t count, NcclType type, int from, NcclComm comm,        \
           CudaStream stream)

}  // namespace tony::collective
