// Compares cuda_types.h with NVIDIA's header.
#include "collective/gpu/cuda_types.h"

#include <gtest/gtest.h>

#include "tests/collective/gpu/same_abi.h"

#ifdef TONY_CUDA_HEADERS
#include <cuda.h>

namespace tony::collective {
namespace {

#define TONY_COMPARE(member, symbol, ...) \
  static_assert(SameAbi<CudaResult(__VA_ARGS__), decltype(&::symbol)>::value, #symbol);
TONY_CUDA_FUNCTIONS(TONY_COMPARE)
#undef TONY_COMPARE

static_assert(std::is_same_v<CudaAddress, CUdeviceptr>);
static_assert(std::is_same_v<CudaStream, CUstream>);
static_assert(std::is_same_v<CudaEvent, CUevent>);
static_assert(kCudaSuccess == CUDA_SUCCESS);
static_assert(kCudaInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kCudaOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kCudaNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kCudaUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(kCudaNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(kCudaNotReady == CUDA_ERROR_NOT_READY);
static_assert(kCudaIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(kCudaStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kCudaEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kCudaPointerDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kCudaAttributeDmaBufSupported == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);

TEST(CudaAbi, IsThatOfTheHeader) { EXPECT_GE(CUDA_VERSION, 11000); }  // checked by the compiler

}  // namespace
}  // namespace tony::collective
#else
TEST(CudaAbi, IsThatOfTheHeader) {
  GTEST_SKIP() << "no CUDA headers: scripts/cuda-compiler fetches them";
}
#endif
