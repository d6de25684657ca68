// The plane of one rank, whose host's group is the test's own.
#include "collective/gpu/gpu_plane.h"

#include <cstring>
#include <future>

#include "tests/collective/gpu/engine_rig.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

/// A group of one rank that ends after some allgathers, as if another rank had ended.
class EndingGroup : public Group {
 public:
  explicit EndingGroup(int good_gathers) : left_(good_gathers) {}

  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline /*deadline*/) override {
    if (left_-- <= 0) return Ended();
    std::memcpy(out, in, bytes[0]);
    return {};
  }
  Status AllReduce(const void* /*in*/, void* /*out*/, size_t /*count*/, DataType /*type*/,
                   ReduceOp /*op*/, Deadline /*deadline*/) override {
    return Ended();
  }
  Status Broadcast(void* /*data*/, size_t /*bytes*/, int /*root*/, Deadline /*deadline*/) override {
    return Ended();
  }
  Status ReduceScatter(const void* /*in*/, void* /*out*/, const std::vector<size_t>& /*counts*/,
                       DataType /*type*/, ReduceOp /*op*/, Deadline /*deadline*/) override {
    return Ended();
  }
  Status AllToAll(const void* /*in*/, const std::vector<size_t>& /*sent*/, void* /*out*/,
                  const std::vector<size_t>& /*received*/, Deadline /*deadline*/) override {
    return Ended();
  }
  Status Barrier(Deadline /*deadline*/) override { return Ended(); }
  void Fail(int /*rank*/) override {}
  void Leave() override {}
  int rank() const override { return 0; }
  int ranks() const override { return 1; }

 private:
  static Status Ended() { return {Code::kAborted, "another rank has ended"}; }

  int left_;
};

class GpuPlaneTest : public GpuEngineTest {};

/// The links' thread reports it, and has other ranks to serve.
TEST_F(GpuPlaneTest, AFailureIsNotHeldUpByNcclsEnd) {
  fake().devices = 1;
  fake().finalize_hangs_at = 0;
  // The meeting fails after NCCL has connected, so its communicator is closed in order.
  EndingGroup host(2);
  const Engine::Options options = Options();
  GpuPlane plane(host, {.gpu = std::make_shared<RankGpu>(options.gpu), .group = options.nccl});
  const GpuArray array(OpenDevice(0), FloatBytes({1}));
  Promise done;
  const Decision decision = {.kind = {.device = DeviceType::kGpu}, .tensors = {{.name = "a"}}};
  std::thread data([&] { plane.Run(decision, {OnGpu("a", array, 1, done)}, kPatience); });
  EXPECT_TRUE(Eventually([&] { return fake().finalized == 1; }));
  auto failed = std::async(std::launch::async, [&] { plane.Fail("rank 1 has ended", {}); });
  EXPECT_EQ(failed.wait_for(std::chrono::seconds(2)), std::future_status::ready)
      << "it waits for NCCL, five seconds at most";
  EXPECT_EQ(done.Get().message(), "another rank has ended");
  data.join();
}

}  // namespace
}  // namespace tony::collective
