// Many tensors gathered into one vector and scattered again, by the kernel's own loops and without.
#include "collective/gpu/fusion_buffer.h"

#include <gmock/gmock.h>

#include <random>

#include "collective/arithmetic/kernels.h"
#include "collective/gpu/copy_batch.h"
#include "collective/gpu/copy_kernel_ptx.h"
#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

using ::testing::HasSubstr;

constexpr char kPtx[] = ".visible .entry tony_copy_batch(";
constexpr size_t kCapacity = size_t{1} << 20;

/// One tensor: at an odd place in memory, for its type.
struct Tensor {
  Bytes memory;
  size_t offset;
  size_t bytes;

  Tensor(size_t count, DataType type, std::mt19937& random, bool aligned)
      : memory(RandomVector(count + 16, type, random)),
        offset(aligned ? 0 : random() % 5 * SizeOf(type)),
        bytes(count * SizeOf(type)) {
    // The reference for conversions is of values that the type has.
    for (size_t i = 0; i < memory.size(); i += SizeOf(type)) memory[i + SizeOf(type) - 1] &= 0x3f;
  }
  unsigned char* data() { return memory.data() + offset; }
  Bytes value() { return {data(), data() + bytes}; }
};

class FusionBufferTest : public GpuTest {
 protected:
  void SetUp() override {
    device_ = OpenDevice(0);
    stream_ = NewStream(device_);
  }
  void TearDown() override {
    stream_.reset();
    device_.reset();
  }
  std::unique_ptr<FusionBuffer> NewBuffer(BatchedCopy& copies) {
    auto buffer = FusionBuffer::Create(device_, copies, kCapacity);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    return std::move(*buffer);
  }
  static Bytes Scaled(const Bytes& bytes, DataType type, double factor) {
    Bytes out(bytes.size());
    BaseKernels().Scale(type)(out.data(), bytes.data(), bytes.size() / SizeOf(type), factor);
    return factor == 1 ? bytes : out;
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

/// There and back, each way with a factor, as the CPU's kernels compute it: to the last bit.
TEST_F(FusionBufferTest, EachTypeWithAndWithoutFactors) {
  BatchedCopy copies(device_, kPtx);
  EXPECT_EQ(copies.limitation(), "");
  const auto buffer = NewBuffer(copies);
  std::mt19937 random(1);
  for (size_t t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    for (const auto& [there, back] : {std::pair{1.0, 1.0}, {0.5, 1.0}, {1.0, 0.3}, {0.25, 3.0}}) {
      std::vector<Tensor> in;
      std::vector<Tensor> out;
      std::vector<FusionBuffer::Tensor> tensors;
      for (const size_t count : {0, 1, 3, 16, 17, 100, 5000}) {
        in.emplace_back(count, type, random, random() % 2 == 0);
        out.emplace_back(count, type, random, random() % 2 == 0);
      }
      for (size_t i = 0; i < in.size(); ++i)
        tensors.push_back({in[i].data(), out[i].data(), in[i].bytes});
      const std::vector<Tensor> before = out;
      ASSERT_TRUE(buffer->Gather(tensors, type, there, *stream_).ok());
      ASSERT_TRUE(buffer->Scatter(tensors, type, back, *stream_).ok());
      Drain(*stream_);
      for (size_t i = 0; i < in.size(); ++i) {
        Tensor expected = before[i];
        const Bytes result = Scaled(Scaled(in[i].value(), type, there), type, back);
        std::copy(result.begin(), result.end(), expected.data());
        // Nothing beside it was written.
        ASSERT_EQ(out[i].memory, expected.memory)
            << NameOf(type) << ", " << in[i].bytes << " bytes, times " << there << " and " << back;
      }
    }
  }
}

TEST_F(FusionBufferTest, MoreTensorsThanABatchHas) {
  BatchedCopy copies(device_, kPtx);
  const auto buffer = NewBuffer(copies);
  std::mt19937 random(2);
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  for (size_t i = 0; i < 2 * kCopiesPerBatch + 1; ++i) {
    in.emplace_back(i % 40, DataType::kFloat32, random, false);
    out.emplace_back(i % 40, DataType::kFloat32, random, false);
  }
  std::vector<FusionBuffer::Tensor> tensors;
  for (size_t i = 0; i < in.size(); ++i)
    tensors.push_back({in[i].data(), out[i].data(), in[i].bytes});
  ASSERT_TRUE(buffer->Gather(tensors, DataType::kFloat32, 1, *stream_).ok());
  ASSERT_TRUE(buffer->Scatter(tensors, DataType::kFloat32, 1, *stream_).ok());
  Drain(*stream_);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i].value(), in[i].value()) << i;
  EXPECT_EQ(fake().kernels, 6);
  EXPECT_EQ(fake().copies, 0);
}

/// In place too: what is reduced where it lies, but with a factor.
TEST_F(FusionBufferTest, ATensorIsScaledWhereItLies) {
  BatchedCopy copies(device_, kPtx);
  std::vector<float> values(1000, 3);
  const Copy copy = {values.data(), values.data(), values.size() * sizeof(float)};
  ASSERT_TRUE(copies.Run({&copy, 1}, DataType::kFloat32, 0.5, *stream_).ok());
  Drain(*stream_);
  EXPECT_EQ(values, std::vector<float>(1000, 1.5F));
}

/// A rank that has joined takes part with zeros, and wants no result.
TEST_F(FusionBufferTest, ATensorThatThisRankDoesNotHave) {
  BatchedCopy copies(device_, kPtx);
  const auto buffer = NewBuffer(copies);
  const std::vector<int32_t> in(5, 7);
  std::vector<int32_t> out(5, 0);
  const FusionBuffer::Tensor tensors[] = {{nullptr, nullptr, 20}, {in.data(), out.data(), 20}};
  ASSERT_TRUE(buffer->Gather(tensors, DataType::kInt32, 1, *stream_).ok());
  ASSERT_TRUE(buffer->Scatter(tensors, DataType::kInt32, 1, *stream_).ok());
  Drain(*stream_);
  const auto* const fused = static_cast<const int32_t*>(buffer->data());
  EXPECT_EQ(std::vector<int32_t>(fused, fused + 5), std::vector<int32_t>(5, 0));
  EXPECT_EQ(out, in);
}

TEST_F(FusionBufferTest, WhatDoesNotFitIsRefused) {
  BatchedCopy copies(device_, kPtx);
  const auto buffer = NewBuffer(copies);
  // Each takes whole units of 16 bytes.
  EXPECT_EQ(FusionBuffer::BytesFor(std::vector<FusionBuffer::Tensor>(3, {nullptr, nullptr, 17})),
            96U);
  const std::vector<FusionBuffer::Tensor> tensors(kCapacity / 16 + 1, {nullptr, nullptr, 1});
  const Status refused = buffer->Gather(tensors, DataType::kUint8, 1, *stream_);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("do not fit into the 1048576 bytes"));
  EXPECT_EQ(buffer->Scatter(tensors, DataType::kUint8, 1, *stream_).code(), Code::kInvalidArgument);
}

/// Builds without the compiler, and drivers that do not take what it made.
TEST_F(FusionBufferTest, WithoutTheKernelCopiesGoOneByOneAndFactorsAreRefused) {
  BatchedCopy none(device_, "");
  EXPECT_THAT(none.limitation(), HasSubstr("this build has none"));
  fake().module_result = kCudaUnsupportedPtxVersion;
  BatchedCopy refused(device_, kPtx);
  EXPECT_THAT(refused.limitation(), HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  fake().module_result = 0;
  BatchedCopy foreign(device_, ".entry something_else(");
  EXPECT_THAT(foreign.limitation(), HasSubstr("the driver does not take it"));
  for (BatchedCopy* copies : {&none, &refused, &foreign}) {
    const auto buffer = NewBuffer(*copies);
    const std::vector<double> in(100, 7);
    std::vector<double> out(100, 0);
    const FusionBuffer::Tensor tensors[] = {{in.data(), out.data(), 800}, {nullptr, nullptr, 8}};
    ASSERT_TRUE(buffer->Gather(tensors, DataType::kFloat64, 1, *stream_).ok());
    ASSERT_TRUE(buffer->Scatter(tensors, DataType::kFloat64, 1, *stream_).ok());
    Drain(*stream_);
    EXPECT_EQ(out, in);
    const Status factor = buffer->Gather(tensors, DataType::kFloat64, 0.5, *stream_);
    EXPECT_EQ(factor.code(), Code::kFailedPrecondition);
    EXPECT_THAT(factor.message(), HasSubstr("cannot be multiplied by 0.5"));
    // A factor does not change bool.
    EXPECT_TRUE(buffer->Gather({}, DataType::kBool, 0.5, *stream_).ok());
    Drain(*stream_);
  }
  EXPECT_EQ(fake().kernels, 0);
  EXPECT_EQ(fake().copies, 6);
}

/// Gathered, reduced and scattered on one stream, and waited for once.
TEST_F(FusionBufferTest, ATrainingsStep) {
  OnConnectedRanks(3, [&](NcclGroup& group) {
    const auto device = OpenDevice(group.rank());
    BatchedCopy copies(device, kPtx);
    const auto buffer = NewBuffer(copies);
    std::vector<std::vector<float>> gradients;
    std::vector<FusionBuffer::Tensor> tensors;
    size_t bytes = 0;
    for (size_t i = 0; i < 160; ++i) {
      gradients.emplace_back(i, static_cast<float>(group.rank() + 1));
      tensors.push_back({gradients[i].data(), gradients[i].data(), i * sizeof(float)});
    }
    bytes = FusionBuffer::BytesFor(tensors);
    group.Defer(true);
    ASSERT_TRUE(buffer->Gather(tensors, DataType::kFloat32, 2, group.stream()).ok());
    const Status reduced = group.AllReduce(buffer->data(), buffer->data(), bytes / sizeof(float),
                                           DataType::kFloat32, ReduceOp::kSum, After(kPatience));
    ASSERT_TRUE(reduced.ok()) << reduced.message();
    ASSERT_TRUE(buffer->Scatter(tensors, DataType::kFloat32, 0.25, group.stream()).ok());
    const Status done = group.Finish(After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    for (size_t i = 0; i < gradients.size(); ++i) {
      ASSERT_EQ(gradients[i], std::vector<float>(i, 2 * (1 + 2 + 3) * 0.25F));
    }
  });
  EXPECT_EQ(fake().kernels, 2 * 3);
  EXPECT_EQ(fake().operations, 1);
}

/// Where the build has a compiler: what it made has the kernel, for old drivers too.
TEST(CopyKernelPtx, HasTheKernel) {
  const std::string_view ptx = CopyKernelPtx();
  if (ptx.empty()) GTEST_SKIP() << "no CUDA compiler: scripts/cuda-compiler fetches one";
  EXPECT_NE(ptx.find(".visible .entry tony_copy_batch("), std::string_view::npos);
  EXPECT_NE(ptx.find(".version 7.0\n"), std::string_view::npos);
  EXPECT_NE(ptx.find(".target sm_75\n"), std::string_view::npos);
  EXPECT_EQ(*(ptx.data() + ptx.size()), '\0');
}

}  // namespace
}  // namespace tony::collective
