// Libraries that are there, are not, are too old, or are something else; and no GPU.
#include <gmock/gmock.h>

#include "collective/gpu/cuda_driver.h"
#include "collective/gpu/nccl_library.h"
#include "collective/gpu/options.h"
#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

using ::testing::HasSubstr;

class GpuLibrariesTest : public GpuTest {};

TEST_F(GpuLibrariesTest, SayTheirVersions) {
  EXPECT_EQ(Driver()->version(), "13.0");
  EXPECT_EQ(Driver()->devices(), 4);
  EXPECT_EQ(Nccl()->version(), "2.28.9");
  fake().nccl_version = kNcclOldest;
  EXPECT_EQ(Nccl()->version(), "2.14.0");
}

TEST_F(GpuLibrariesTest, NoDriver) {
  auto driver = CudaDriver::Load("libcuda-that-nobody-has.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(driver.status().message(), HasSubstr("there is no NVIDIA driver"));
  EXPECT_THAT(driver.status().message(), HasSubstr("libcuda-that-nobody-has.so.1"));
  EXPECT_THAT(driver.status().message(), HasSubstr("TONY_CUDA_LIBRARY"));
}

TEST_F(GpuLibrariesTest, NoNccl) {
  auto nccl = NcclLibrary::Load("libnccl-that-nobody-has.so.2");
  ASSERT_FALSE(nccl.ok());
  EXPECT_EQ(nccl.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(nccl.status().message(), HasSubstr("there is no NCCL"));
  EXPECT_THAT(nccl.status().message(), HasSubstr("libnccl-that-nobody-has.so.2"));
  EXPECT_THAT(nccl.status().message(), HasSubstr("TONY_NCCL_LIBRARY"));
}

TEST_F(GpuLibrariesTest, AnotherLibrary) {
  auto driver = CudaDriver::Load("libm.so.6");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(driver.status().message(), HasSubstr("has no function cuInit"));
  auto nccl = NcclLibrary::Load("libm.so.6");
  ASSERT_FALSE(nccl.ok());
  EXPECT_EQ(nccl.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(nccl.status().message(), HasSubstr("has no function ncclGetVersion"));
}

TEST_F(GpuLibrariesTest, ATooOldNcclSaysWhichAndWhatIsNeeded) {
  for (const auto& [version, text] :
       {std::pair{21399, "2.13.99"}, {21212, "2.12.12"}, {2803, "2.8.3"}}) {
    fake().nccl_version = version;
    auto nccl = NcclLibrary::Load(kFakeGpu);
    ASSERT_FALSE(nccl.ok());
    EXPECT_EQ(nccl.status().code(), Code::kFailedPrecondition);
    EXPECT_THAT(nccl.status().message(), HasSubstr(std::string("is NCCL ") + text + ","));
    EXPECT_THAT(nccl.status().message(), HasSubstr("at least 2.14.0 is needed"));
    EXPECT_THAT(nccl.status().message(), HasSubstr("fake_gpu.so"));
  }
}

TEST_F(GpuLibrariesTest, NoGpu) {
  fake().init_result = kCudaNoDevice;
  auto driver = CudaDriver::Load(kFakeGpu);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(driver.status().message(),
              HasSubstr("this process sees no GPU (CUDA_ERROR_NO_DEVICE"));
  EXPECT_THAT(driver.status().message(), HasSubstr("CUDA_VISIBLE_DEVICES"));
  fake().init_result = 0;
  fake().devices = 0;
  auto empty = CudaDriver::Load(kFakeGpu);
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.status().message(), HasSubstr("the driver counts none"));
}

TEST_F(GpuLibrariesTest, AGpuThatIsNotThere) {
  fake().devices = 2;
  for (const int ordinal : {-1, 2}) {
    auto device = Device::Open(Driver(), ordinal);
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(device.status().message(), "there is no GPU " + std::to_string(ordinal) +
                                             ": this process sees 2, which count from 0");
  }
}

TEST_F(GpuLibrariesTest, NoAddressToListenAt) {
  fake().unique_id_result = kNcclSystemError;
  auto id = Nccl()->CreateUniqueId();
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.status().code(), Code::kInternal);
  EXPECT_THAT(id.status().message(), HasSubstr("NCCL_SOCKET_IFNAME"));
}

TEST_F(GpuLibrariesTest, NoMemoryLeft) {
  fake().memory = 100;
  auto memory = DeviceMemory::Allocate(OpenDevice(1), 101);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(memory.status().message(), HasSubstr("cannot allocate 101 bytes on GPU 1"));
}

TEST_F(GpuLibrariesTest, TheEnvironmentNamesOthers) {
  const GpuOptions usual;
  unsetenv("TONY_CUDA_LIBRARY");
  setenv("TONY_NCCL_LIBRARY", "", 1);
  EXPECT_EQ(GpuOptionsFromEnvironment().cuda_library, usual.cuda_library);
  EXPECT_EQ(GpuOptionsFromEnvironment().nccl_library, usual.nccl_library);
  setenv("TONY_CUDA_LIBRARY", "/opt/libcuda.so.1", 1);
  setenv("TONY_NCCL_LIBRARY", "/opt/libnccl.so.2", 1);
  EXPECT_EQ(GpuOptionsFromEnvironment().cuda_library, "/opt/libcuda.so.1");
  EXPECT_EQ(GpuOptionsFromEnvironment().nccl_library, "/opt/libnccl.so.2");
  unsetenv("TONY_CUDA_LIBRARY");
  unsetenv("TONY_NCCL_LIBRARY");
}

}  // namespace
}  // namespace tony::collective
