// Tests the description of the connections between GPUs.
#include "collective/gpu/transport.h"

#include <filesystem>

#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

namespace fs = std::filesystem;

class TransportTest : public GpuTest {
 protected:
  TransportTest() {
    std::string pattern = ::testing::TempDir() + "/transport-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    sys_ = pattern;
  }
  ~TransportTest() override { fs::remove_all(sys_); }

  std::string Say(int ordinal) {
    return Describe(DetectTransport(*Nccl(), *OpenDevice(ordinal), sys_.string()));
  }

  fs::path sys_;
};

constexpr char kEnd[] = " (what NCCL takes of it, NCCL_DEBUG=INFO tells)";

TEST_F(TransportTest, AHostWithoutInfiniBand) {
  EXPECT_EQ(Say(1), std::string("NCCL 2.28.9 on a driver for CUDA 13.0; GPU 1 (Double 1), which "
                                "reaches the memory of 1 of the 3 others here; no InfiniBand "
                                "device, so TCP between hosts") +
                        kEnd);
}

TEST_F(TransportTest, OneGpuOfItsOwn) {
  fake().devices = 1;
  EXPECT_NE(Say(0).find("; GPU 0 (Double 0), the only one that this process sees; "),
            std::string::npos);
}

TEST_F(TransportTest, InfiniBandAndGpuDirect) {
  fs::create_directories(sys_ / "class/infiniband/mlx5_1");
  fs::create_directories(sys_ / "class/infiniband/mlx5_0");
  const std::string devices = "; InfiniBand or RoCE devices mlx5_0, mlx5_1, ";
  EXPECT_NE(
      Say(1).find(devices + "without GPUDirect: neither nvidia_peermem nor DMA buffers" + kEnd),
      std::string::npos)
      << Say(1);
  EXPECT_NE(Say(0).find(devices + "GPUDirect through DMA buffers" + kEnd), std::string::npos)
      << Say(0);
  fs::create_directories(sys_ / "module/nv_peer_mem");
  EXPECT_NE(Say(1).find(devices + "GPUDirect through module nv_peer_mem" + kEnd),
            std::string::npos);
  fs::create_directories(sys_ / "module/nvidia_peermem");
  EXPECT_NE(Say(1).find(devices + "GPUDirect through module nvidia_peermem" + kEnd),
            std::string::npos);
}

}  // namespace
}  // namespace tony::collective
