// Each operation on as many GPUs as there are, and the same on the double, so that the test itself
// is known to work where there is none: docs/gpu.md.
#include <random>

#include "collective/arithmetic/kernels.h"
#include "collective/gpu/copy_kernel_ptx.h"
#include "collective/gpu/fusion_buffer.h"
#include "collective/gpu/options.h"
#include "collective/gpu/transport.h"
#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

/// So large that NCCL takes its ways for long vectors too.
constexpr size_t kCounts[] = {1, 1000, (size_t{1} << 20) + 3};

/// Whole numbers whose sums and products each type has, so that NCCL may add in any order.
Bytes SmallNumbers(size_t count, DataType type, int rank) {
  Bytes bytes(count * SizeOf(type));
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>((i + static_cast<size_t>(rank)) % 2 + 1);
    unsigned char* const at = &bytes[i * SizeOf(type)];
    const uint16_t half = HalfReference::Store(value);
    const uint16_t bfloat = BfloatReference::Store(value);
    const double wide = value;
    if (type == DataType::kFloat16) std::memcpy(at, &half, sizeof(half));
    if (type == DataType::kBfloat16) std::memcpy(at, &bfloat, sizeof(bfloat));
    if (type == DataType::kFloat32) std::memcpy(at, &value, sizeof(value));
    if (type == DataType::kFloat64) std::memcpy(at, &wide, sizeof(wide));
    if (type < DataType::kFloat16) *at = static_cast<unsigned char>(value);
    if (type == DataType::kBool) *at = value == 1 ? 1 : 0;
  }
  return bytes;
}

/// On the double, or on what there is.
class HardwareTest : public GpuTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    const GpuOptions usual = GpuOptionsFromEnvironment();
    cuda_file_ = GetParam() ? usual.cuda_library : kFakeGpu;
    auto driver = CudaDriver::Load(cuda_file_);
    if (!driver.ok()) GTEST_SKIP() << driver.status().message();
    auto nccl = NcclLibrary::Load(GetParam() ? usual.nccl_library : kFakeGpu);
    if (!nccl.ok()) GTEST_SKIP() << nccl.status().message();
    driver_ = *driver;
    nccl_ = *nccl;
    auto* const library = dlopen(cuda_file_.c_str(), RTLD_NOW);
    copy_ = reinterpret_cast<CudaResult (*)(CudaAddress, CudaAddress, size_t)>(
        dlsym(library, "cuMemcpy"));
    ASSERT_NE(copy_, nullptr);
  }

  /// One rank, and memory of its GPU.
  struct Rank {
    HardwareTest& test;
    std::shared_ptr<Device> device;
    NcclGroup& group;
    std::vector<std::unique_ptr<DeviceMemory>> kept;

    void* Upload(const Bytes& bytes) {
      auto memory = DeviceMemory::Allocate(device, bytes.size() + 1);
      EXPECT_TRUE(memory.ok()) << memory.status().message();
      kept.push_back(std::move(*memory));
      test.Copy(*device, kept.back()->data(), bytes.data(), bytes.size());
      return kept.back()->data();
    }
    Bytes Download(const void* from, size_t size) {
      Bytes bytes(size);
      test.Copy(*device, bytes.data(), from, size);
      return bytes;
    }
  };

  void Copy(const Device& device, void* to, const void* from, size_t bytes) {
    const Device::Current current(device);
    const Status copied = device.driver().Check(
        copy_(reinterpret_cast<CudaAddress>(to), reinterpret_cast<CudaAddress>(from), bytes),
        "copy");
    ASSERT_TRUE(copied.ok()) << copied.message();
  }

  void OnGpus(const std::function<void(Rank&)>& body) {
    auto id = nccl_->CreateUniqueId();
    ASSERT_TRUE(id.ok()) << id.status().message();
    const int ranks = driver_->devices();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        auto device = Device::Open(driver_, rank);
        ASSERT_TRUE(device.ok()) << device.status().message();
        auto group = NcclGroup::Create(nccl_, *device, Place(rank, ranks, *id),
                                       {.fusion_bytes = size_t{1} << 20});
        ASSERT_TRUE(group.ok()) << group.status().message();
        const Status connected = (*group)->Connect(After(kPatience));
        ASSERT_TRUE(connected.ok()) << connected.message();
        Rank context{*this, *device, **group, {}};
        body(context);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  size_t ranks() const { return static_cast<size_t>(driver_->devices()); }

  std::string cuda_file_;
  std::shared_ptr<const CudaDriver> driver_;
  std::shared_ptr<const NcclLibrary> nccl_;
  CudaResult (*copy_)(CudaAddress, CudaAddress, size_t) = nullptr;
};

TEST_P(HardwareTest, SaysWhatThereIs) {
  auto device = Device::Open(driver_, 0);
  ASSERT_TRUE(device.ok()) << device.status().message();
  std::cout << Describe(DetectTransport(*nccl_, **device, "/sys")) << "\n";
}

TEST_P(HardwareTest, AllReduce) {
  OnGpus([&](Rank& self) {
    for (size_t t = 0; t < kDataTypes * kReduceOps; ++t) {
      const auto type = static_cast<DataType>(t / kReduceOps);
      const auto op = static_cast<ReduceOp>(t % kReduceOps);
      if (type == DataType::kInt16 || type == DataType::kUint16) continue;
      const size_t count = kCounts[type == DataType::kFloat32 ? 2 : t % 2];
      Bytes expected = SmallNumbers(count, type, 0);
      for (int rank = 1; rank < self.group.ranks(); ++rank) {
        expected = Reference(expected, SmallNumbers(count, type, rank), type, op);
      }
      void* const data = self.Upload(SmallNumbers(count, type, self.group.rank()));
      const Status done = self.group.AllReduce(data, data, count, type, op, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_EQ(self.Download(data, expected.size()), expected)
          << NameOf(op) << " of " << count << " " << NameOf(type);
    }
  });
}

TEST_P(HardwareTest, AverageAndBarrier) {
  OnGpus([&](Rank& self) {
    std::vector<float> values(1000, static_cast<float>(self.group.rank()));
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    void* const data = self.Upload({bytes, bytes + values.size() * sizeof(float)});
    const Status done =
        self.group.Average(data, data, values.size(), DataType::kFloat32, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    const Bytes result = self.Download(data, values.size() * sizeof(float));
    std::memcpy(values.data(), result.data(), result.size());
    EXPECT_FLOAT_EQ(values[999], static_cast<float>(self.group.ranks() - 1) / 2);
    EXPECT_TRUE(self.group.Barrier(After(kPatience)).ok());
  });
}

TEST_P(HardwareTest, OperationsOnBytes) {
  OnGpus([&](Rank& self) {
    const auto rank = static_cast<size_t>(self.group.rank());
    std::vector<size_t> uneven(ranks());
    for (size_t n = 0; n < ranks(); ++n) uneven[n] = 1000 * n + 5;
    for (const auto& lengths : {uneven, std::vector<size_t>(ranks(), 1000)}) {
      Bytes all;
      for (size_t n = 0; n < ranks(); ++n) {
        all.insert(all.end(), lengths[n], static_cast<unsigned char>(n));
      }
      const Bytes own(lengths[rank], static_cast<unsigned char>(rank));
      void* const in = self.Upload(own);
      void* const out = self.Upload(Bytes(all.size()));
      ASSERT_TRUE(self.group.AllGather(in, out, lengths, After(kPatience)).ok());
      EXPECT_EQ(self.Download(out, all.size()), all);
      // Each sends all of its own to each: the same comes from all.
      Bytes everything;
      for (size_t n = 0; n < ranks(); ++n)
        everything.insert(everything.end(), own.begin(), own.end());
      const std::vector<size_t> sent(ranks(), own.size());
      void* const received = self.Upload(Bytes(all.size()));
      ASSERT_TRUE(
          self.group.AllToAll(self.Upload(everything), sent, received, lengths, After(kPatience))
              .ok());
      EXPECT_EQ(self.Download(received, all.size()), all);
      void* const sum = self.Upload(own);
      ASSERT_TRUE(
          self.group
              .ReduceScatter(out, sum, lengths, DataType::kUint8, ReduceOp::kSum, After(kPatience))
              .ok());
      EXPECT_EQ(self.Download(sum, own.size()),
                Bytes(own.size(), static_cast<unsigned char>(rank * ranks())));
      ASSERT_TRUE(self.group.Broadcast(out, 3, 0, After(kPatience)).ok());
      EXPECT_EQ(self.Download(out, 3), Bytes(3, 0));
    }
  });
}

/// The kernel, against the CPU's to the last bit: of each type, with factors, at odd places.
TEST_P(HardwareTest, FusedTensorsWithFactors) {
  const std::string_view ptx = GetParam() ? CopyKernelPtx() : ".entry tony_copy_batch(";
  if (ptx.empty()) GTEST_SKIP() << "this build has no kernel";
  OnGpus([&](Rank& self) {
    BatchedCopy copies(self.device, ptx);
    ASSERT_EQ(copies.limitation(), "");
    auto buffer = FusionBuffer::Create(self.device, copies, size_t{64} << 20);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    std::mt19937 random(3);
    for (size_t t = 0; t < kDataTypes; ++t) {
      const auto type = static_cast<DataType>(t);
      std::vector<Bytes> in;
      std::vector<FusionBuffer::Tensor> tensors;
      for (size_t i = 0; i < 200; ++i) {
        in.push_back(RandomVector(i == 7 ? 1000003 : 3 * i, type, random));
        // Positive and not too large for a factor.
        for (size_t k = SizeOf(type) - 1; k < in[i].size(); k += SizeOf(type)) in[i][k] &= 0x3f;
        Bytes shifted(i % 3 * SizeOf(type));
        const size_t offset = shifted.size();
        shifted.insert(shifted.end(), in[i].begin(), in[i].end());
        auto* const data = static_cast<std::byte*>(self.Upload(shifted)) + offset;
        tensors.push_back({data, data, in[i].size()});
      }
      Stream& stream = self.group.stream();
      ASSERT_TRUE((*buffer)->Gather(tensors, type, 0.3, stream).ok());
      ASSERT_TRUE((*buffer)->Scatter(tensors, type, 1, stream).ok());
      const Status done = self.group.Finish(After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      for (size_t i = 0; i < in.size(); ++i) {
        Bytes expected(in[i].size());
        BaseKernels().Scale(type)(expected.data(), in[i].data(), in[i].size() / SizeOf(type), 0.3);
        ASSERT_EQ(self.Download(tensors[i].in, in[i].size()), expected) << NameOf(type) << " " << i;
      }
      self.kept.clear();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(On, HardwareTest, ::testing::Bool(), [](const auto& parameter) {
  return std::string(parameter.param ? "Gpus" : "TheDouble");
});

}  // namespace
}  // namespace tony::collective
