// Compares nccl_types.h with NVIDIA's header, and tries the real library as far as it works here.
#include "collective/gpu/nccl_types.h"

#include <gmock/gmock.h>

#include "collective/gpu/nccl_library.h"
#include "collective/gpu/options.h"
#include "tests/collective/gpu/gpu_rig.h"
#include "tests/collective/gpu/same_abi.h"

#ifdef TONY_NCCL_HEADERS
#include <nccl.h>

#include <cstddef>

namespace tony::collective {
namespace {

#define TONY_COMPARE(member, symbol, ...) \
  static_assert(SameAbi<NcclResult(__VA_ARGS__), decltype(&::symbol)>::value, #symbol);
TONY_NCCL_FUNCTIONS(TONY_COMPARE)
#undef TONY_COMPARE

static_assert(std::is_same_v<NcclComm, ncclComm_t>);
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(NCCL_VERSION(2, 14, 0) == kNcclOldest);
static_assert(kNcclSuccess == ncclSuccess && kNcclUnhandledCudaError == ncclUnhandledCudaError &&
              kNcclSystemError == ncclSystemError && kNcclInternalError == ncclInternalError &&
              kNcclInvalidArgument == ncclInvalidArgument &&
              kNcclInvalidUsage == ncclInvalidUsage && kNcclRemoteError == ncclRemoteError &&
              kNcclInProgress == ncclInProgress);

constexpr bool Is(NcclType ours, ncclDataType_t theirs) { return static_cast<int>(ours) == theirs; }
static_assert(Is(NcclType::kInt8, ncclInt8) && Is(NcclType::kUint8, ncclUint8) &&
              Is(NcclType::kInt32, ncclInt32) && Is(NcclType::kUint32, ncclUint32) &&
              Is(NcclType::kInt64, ncclInt64) && Is(NcclType::kUint64, ncclUint64) &&
              Is(NcclType::kFloat16, ncclFloat16) && Is(NcclType::kBfloat16, ncclBfloat16) &&
              Is(NcclType::kFloat32, ncclFloat32) && Is(NcclType::kFloat64, ncclFloat64));
constexpr bool Is(NcclOp ours, ncclRedOp_t theirs) { return static_cast<int>(ours) == theirs; }
static_assert(Is(NcclOp::kSum, ncclSum) && Is(NcclOp::kProduct, ncclProd) &&
              Is(NcclOp::kMax, ncclMax) && Is(NcclOp::kMin, ncclMin) &&
              Is(NcclOp::kAverage, ncclAvg));

/// The real one has all functions, and says its version and makes ids without a GPU.
TEST(NcclAbi, IsThatOfTheRealLibrary) {
  auto nccl = NcclLibrary::Load(TONY_NCCL_LIBRARY_FILE);
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
  EXPECT_EQ((*nccl)->version(), NcclVersionText(NCCL_VERSION_CODE));
  auto id = (*nccl)->CreateUniqueId();
  EXPECT_TRUE(id.ok()) << id.status().message();
  EXPECT_EQ((*id).size(), sizeof(ncclUniqueId));
}

using RealNccl = GpuTest;

/// The configuration of 2.14 is taken for what it is: without a GPU the real one fails behind that.
TEST_F(RealNccl, SaysThatThereIsNoGpu) {
  if (CudaDriver::Load(GpuOptions().cuda_library).ok()) GTEST_SKIP() << "there is a GPU";
  auto nccl = NcclLibrary::Load(TONY_NCCL_LIBRARY_FILE);
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
  auto id = (*nccl)->CreateUniqueId();
  ASSERT_TRUE(id.ok()) << id.status().message();
  Communicator communicator(*nccl, OpenDevice(0), Place(0, 1, *id));
  const Status refused = communicator.Connect(After(kPatience));
  EXPECT_EQ(refused.code(), Code::kAborted);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("unhandled cuda error"));
}

}  // namespace
}  // namespace tony::collective
#else
TEST(NcclAbi, IsThatOfTheRealLibrary) {
  GTEST_SKIP() << "no NCCL: scripts/cuda-compiler --headers fetches it";
}
#endif
