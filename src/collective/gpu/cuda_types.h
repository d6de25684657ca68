// The part of CUDA's driver API that tony uses, declared from its documentation, so that no header
// of NVIDIA's is needed.
//
// A test compares these declarations with the real headers where it finds them. The runtime's
// cudaEvent_t and cudaStream_t are the same pointers, so handles can be exchanged with any
// framework.
#pragma once

#include <cstddef>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

namespace tony::collective {

using CudaResult = int;
using CudaDevice = int;
using CudaAddress = unsigned long long;  // NOLINT(google-runtime-int): as CUDA has it
using CudaContext = CUctx_st*;
using CudaStream = CUstream_st*;
using CudaEvent = CUevent_st*;
using CudaModule = CUmod_st*;
using CudaFunction = CUfunc_st*;

inline constexpr CudaResult kCudaSuccess = 0;
inline constexpr CudaResult kCudaInvalidValue = 1;
inline constexpr CudaResult kCudaOutOfMemory = 2;
inline constexpr CudaResult kCudaNoDevice = 100;
inline constexpr CudaResult kCudaUnsupportedPtxVersion = 222;
inline constexpr CudaResult kCudaNotFound = 500;
inline constexpr CudaResult kCudaNotReady = 600;
inline constexpr CudaResult kCudaIllegalAddress = 700;

inline constexpr unsigned kCudaStreamNonBlocking = 1;  ///< does not wait for the default stream
inline constexpr unsigned kCudaEventDisableTiming = 2;
inline constexpr int kCudaAttributeDmaBufSupported = 124;
inline constexpr int kCudaPointerDeviceOrdinal = 9;

/// One entry for each function: FUNCTION(member, symbol, parameters…). A symbol with a suffix like
/// _v2 is a function that CUDA has changed once; its header adds the suffix.
#define TONY_CUDA_FUNCTIONS(FUNCTION)                                                              \
  FUNCTION(Init, cuInit, unsigned flags)                                                           \
  FUNCTION(DriverGetVersion, cuDriverGetVersion, int* version)                                     \
  FUNCTION(GetErrorName, cuGetErrorName, CudaResult error, const char** name)                      \
  FUNCTION(GetErrorString, cuGetErrorString, CudaResult error, const char** text)                  \
  FUNCTION(DeviceGetCount, cuDeviceGetCount, int* count)                                           \
  FUNCTION(DeviceGet, cuDeviceGet, CudaDevice* device, int ordinal)                                \
  FUNCTION(DeviceGetName, cuDeviceGetName, char* name, int bytes, CudaDevice device)               \
  FUNCTION(DeviceGetAttribute, cuDeviceGetAttribute, int* value, int attribute, CudaDevice device) \
  FUNCTION(DeviceCanAccessPeer, cuDeviceCanAccessPeer, int* can, CudaDevice device,                \
           CudaDevice peer)                                                                        \
  FUNCTION(PointerGetAttribute, cuPointerGetAttribute, void* value, int attribute,                 \
           CudaAddress address)                                                                    \
  FUNCTION(PrimaryRetain, cuDevicePrimaryCtxRetain, CudaContext* context, CudaDevice device)       \
  FUNCTION(PrimaryRelease, cuDevicePrimaryCtxRelease_v2, CudaDevice device)                        \
  FUNCTION(PushCurrent, cuCtxPushCurrent_v2, CudaContext context)                                  \
  FUNCTION(PopCurrent, cuCtxPopCurrent_v2, CudaContext* context)                                   \
  FUNCTION(PriorityRange, cuCtxGetStreamPriorityRange, int* least, int* greatest)                  \
  FUNCTION(StreamCreate, cuStreamCreateWithPriority, CudaStream* stream, unsigned flags,           \
           int priority)                                                                           \
  FUNCTION(StreamDestroy, cuStreamDestroy_v2, CudaStream stream)                                   \
  FUNCTION(StreamWaitEvent, cuStreamWaitEvent, CudaStream stream, CudaEvent event, unsigned flags) \
  FUNCTION(EventCreate, cuEventCreate, CudaEvent* event, unsigned flags)                           \
  FUNCTION(EventDestroy, cuEventDestroy_v2, CudaEvent event)                                       \
  FUNCTION(EventRecord, cuEventRecord, CudaEvent event, CudaStream stream)                         \
  FUNCTION(EventQuery, cuEventQuery, CudaEvent event)                                              \
  FUNCTION(MemAlloc, cuMemAlloc_v2, CudaAddress* address, size_t bytes)                            \
  FUNCTION(MemFree, cuMemFree_v2, CudaAddress address)                                             \
  FUNCTION(CopyAsync, cuMemcpyDtoDAsync_v2, CudaAddress to, CudaAddress from, size_t bytes,        \
           CudaStream stream)                                                                      \
  FUNCTION(FillAsync, cuMemsetD8Async, CudaAddress to, unsigned char value, size_t bytes,          \
           CudaStream stream)                                                                      \
  FUNCTION(ModuleLoadData, cuModuleLoadData, CudaModule* module, const void* image)                \
  FUNCTION(ModuleUnload, cuModuleUnload, CudaModule module)                                        \
  FUNCTION(ModuleGetFunction, cuModuleGetFunction, CudaFunction* function, CudaModule module,      \
           const char* name)                                                                       \
  FUNCTION(LaunchKernel, cuLaunchKernel, CudaFunction function, unsigned grid_x, unsigned grid_y,  \
           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                  \
           unsigned shared_bytes, CudaStream stream, void** parameters, void** extra)

}  // namespace tony::collective
