// Ranks with a GPU each, as threads, on the doubles of CUDA's driver and of NCCL.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/gpu/device_memory.h"
#include "collective/gpu/nccl_group.h"
#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/gpu/fake/fake_gpu.h"
#include "tests/collective/patience.h"

namespace tony::collective {

inline constexpr char kFakeGpu[] = TONY_FAKE_GPU;
/// A text that the fake accepts as the kernel, and a buffer small enough for tests to fill.
inline constexpr NcclGroup::Options kSmall = {.fusion_bytes = 4096,
                                              .ptx = ".visible .entry tony_copy_batch("};

/// A fresh double for each test, and at its end the check that nothing is left in it.
class GpuTest : public ::testing::Test {
 protected:
  GpuTest() : library_(dlopen(kFakeGpu, RTLD_NOW)) {
    EXPECT_NE(library_, nullptr) << dlerror();
    Reset();
  }
  ~GpuTest() override {
    ExpectNothingLeft();
    Reset();
    dlclose(library_);
  }

  void ExpectNothingLeft() {
    EXPECT_EQ(fake().communicators, 0);
    EXPECT_EQ(fake().streams, 0);
    EXPECT_EQ(fake().events, 0);
    EXPECT_EQ(fake().allocations, 0);
    EXPECT_EQ(fake().modules, 0);
    EXPECT_EQ(fake().contexts, 0);
    EXPECT_EQ(fake().misuses, 0);
    EXPECT_EQ(fake().mismatches, 0);
  }

  FakeGpu& fake() { return *Symbol<FakeGpu*()>("tony_fake_gpu")(); }

  std::shared_ptr<const CudaDriver> Driver() {
    auto driver = CudaDriver::Load(kFakeGpu);
    EXPECT_TRUE(driver.ok()) << driver.status().message();
    return *driver;
  }
  std::shared_ptr<const NcclLibrary> Nccl() {
    auto nccl = NcclLibrary::Load(kFakeGpu);
    EXPECT_TRUE(nccl.ok()) << nccl.status().message();
    return *nccl;
  }
  std::shared_ptr<Device> OpenDevice(int ordinal) {
    auto device = Device::Open(Driver(), ordinal);
    EXPECT_TRUE(device.ok()) << device.status().message();
    return *device;
  }
  std::unique_ptr<Stream> NewStream(const std::shared_ptr<Device>& device) {
    auto stream = Stream::Create(device);
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    return std::move(*stream);
  }
  /// Waits for all that the stream has.
  void Drain(Stream& stream) {
    std::promise<void> promise;
    OnStream(stream.handle(), [&] { promise.set_value(); });
    ASSERT_EQ(promise.get_future().wait_for(kPatience), std::future_status::ready);
  }
  /// Called in the stream's order.
  void OnStream(CudaStream stream, std::function<void()> work) {
    auto* const kept = new std::function<void()>(std::move(work));
    Symbol<CudaResult(CudaStream, void (*)(void*), void*)>("cuLaunchHostFunc")(
        stream,
        [](void* data) {
          const std::unique_ptr<std::function<void()>> function(
              static_cast<std::function<void()>*>(data));
          (*function)();
        },
        kept);
  }

  /// Rank n of the group is rank 10 + n of the job.
  static Communicator::Membership Place(int rank, int ranks, const std::string& id) {
    Communicator::Membership place{.position = rank, .unique_id = id};
    for (int n = 0; n < ranks; ++n) place.ranks.push_back(10 + n);
    return place;
  }
  std::unique_ptr<NcclGroup> NewGroup(int rank, int ranks, const std::string& id) {
    auto group = NcclGroup::Create(Nccl(), OpenDevice(rank % 4), Place(rank, ranks, id), kSmall);
    EXPECT_TRUE(group.ok()) << group.status().message();
    return std::move(*group);
  }
  std::string NewId() {
    auto id = Nccl()->CreateUniqueId();
    EXPECT_TRUE(id.ok()) << id.status().message();
    return *id;
  }
  /// Each rank in a thread of its own, not connected yet.
  void OnRanks(int ranks, const std::function<void(NcclGroup&)>& body) {
    const std::string id = NewId();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { body(*NewGroup(rank, ranks, id)); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void OnConnectedRanks(int ranks, const std::function<void(NcclGroup&)>& body) {
    OnRanks(ranks, [&](NcclGroup& group) {
      const Status connected = group.Connect(After(kPatience));
      ASSERT_TRUE(connected.ok()) << connected.message();
      body(group);
    });
  }

 private:
  template <typename Function>
  Function* Symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  void Reset() {
    FakeGpu& f = fake();
    for (auto* counter : {&f.init_result, &f.module_result, &f.query_result, &f.unique_id_result,
                          &f.aborted, &f.finalized, &f.destroyed, &f.operations, &f.mismatches,
                          &f.misuses, &f.kernels, &f.copies, &f.communicators, &f.streams,
                          &f.events, &f.allocations, &f.modules, &f.contexts}) {
      *counter = 0;
    }
    for (auto* rank : {&f.init_fails_at, &f.init_hangs_at, &f.call_fails_at, &f.call_hangs_at,
                       &f.async_fails_at, &f.finalize_hangs_at}) {
      *rank = -1;
    }
    f.processes = nullptr;
    f.devices = 4;
    f.driver_version = 13000;
    f.nccl_version = 22809;
    f.memory = size_t{1} << 40;
    const std::lock_guard lock(f.mutex);
    f.notes.clear();
  }

  void* const library_;
};

}  // namespace tony::collective
