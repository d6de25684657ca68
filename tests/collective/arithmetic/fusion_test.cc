// Tensors as one vector: any part of it, with gaps, factors, and none at all.
#include "collective/arithmetic/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "collective/arithmetic/neutral.h"

namespace tony::collective {
namespace {

std::byte* BytesOf(std::vector<float>& vector) {
  return reinterpret_cast<std::byte*>(vector.data());
}

/// Tensors of all sizes; those without input count as zeros.
struct Tensors {
  explicit Tensors(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 40; ++i) {
      const size_t count = i % 7 == 0 ? 0 : random() % (i % 5 == 0 ? 20000 : 20);
      ins.emplace_back(count);
      std::iota(ins.back().begin(), ins.back().end(), static_cast<float>(whole.size() + 1));
      outs.emplace_back(count, -1.0F);
      if (i % 6 == 1) {
        whole.insert(whole.end(), count, 0.0F);
      } else {
        whole.insert(whole.end(), ins.back().begin(), ins.back().end());
      }
    }
    for (size_t i = 0; i < ins.size(); ++i) {
      list.push_back({.in = i % 6 == 1 ? nullptr : ins[i].data(),
                      .out = i % 6 == 1 ? nullptr : outs[i].data(),
                      .count = ins[i].size()});
    }
  }

  std::vector<std::vector<float>> ins, outs;
  std::vector<float> whole;  ///< what they are together
  std::vector<Fusion::Tensor> list;
};

TEST(Fusion, GathersAnyPart) {
  Tensors tensors(1);
  std::mt19937 random(2);
  for (const double factor : {1.0, 2.0}) {
    const Fusion fusion(tensors.list, DataType::kFloat32, factor);
    ASSERT_EQ(fusion.count(), tensors.whole.size());
    for (int turn = 0; turn < 300; ++turn) {
      const size_t begin = random() % tensors.whole.size();
      const size_t count = random() % (tensors.whole.size() - begin + 1);
      std::vector<float> part(count);
      fusion.Gather(begin * sizeof(float), count * sizeof(float), BytesOf(part));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(part[i], tensors.whole[begin + i] * static_cast<float>(factor));
      }
      const auto* found =
          reinterpret_cast<const float*>(fusion.Find(begin * sizeof(float), count * sizeof(float)));
      ASSERT_TRUE(found == nullptr || std::equal(part.begin(), part.end(), found));
      ASSERT_TRUE(factor == 1 || found == nullptr);
    }
  }
}

TEST(Fusion, FindsWhatLiesInOnePlace) {
  std::vector<float> first(3), second(5);
  const Fusion fusion({{first.data(), first.data(), 3}, {}, {second.data(), nullptr, 5}},
                      DataType::kFloat32);
  EXPECT_TRUE(fusion.in_place());
  EXPECT_EQ(fusion.Find(4, 8), BytesOf(first) + 4);
  EXPECT_EQ(fusion.Find(4, 12), nullptr);
  EXPECT_EQ(fusion.Find(12, 20), BytesOf(second));
}

TEST(Fusion, ScattersAnyPart) {
  for (const double factor : {1.0, 0.5}) {
    Tensors tensors(3);
    const Fusion fusion(tensors.list, DataType::kFloat32, 1, factor);
    EXPECT_FALSE(fusion.in_place());
    std::mt19937 random(4);
    // All of it, in parts of any size.
    for (size_t begin = 0; begin < tensors.whole.size();) {
      const size_t count = std::min<size_t>(1 + random() % 9000, tensors.whole.size() - begin);
      std::vector<float> part(tensors.whole.begin() + static_cast<std::ptrdiff_t>(begin),
                              tensors.whole.begin() + static_cast<std::ptrdiff_t>(begin + count));
      fusion.Scatter(begin * sizeof(float), count * sizeof(float), BytesOf(part), begin % 2 == 0);
      fusion.Finish(BytesOf(part), count * sizeof(float));
      EXPECT_EQ(part[0], tensors.whole[begin] * static_cast<float>(factor));
      begin += count;
    }
    for (size_t i = 0; i < tensors.outs.size(); ++i) {
      for (size_t k = 0; k < tensors.outs[i].size(); ++k) {
        const float expected = i % 6 == 1 ? -1.0F : tensors.ins[i][k] * static_cast<float>(factor);
        ASSERT_EQ(tensors.outs[i][k], expected);
      }
    }
  }
}

TEST(Fusion, WhoHasNoneHasNeutralElements) {
  const Fusion fusion({.count = 3, .neutral = NeutralBits(DataType::kInt16, ReduceOp::kMin)},
                      DataType::kInt16);
  std::vector<int16_t> all(3);
  fusion.Gather(0, 6, reinterpret_cast<std::byte*>(all.data()));
  EXPECT_EQ(all, std::vector<int16_t>(3, INT16_MAX));
}

TEST(Fusion, MayBeOfOneTensor) {
  std::vector<float> in(5, 1.0F), out(5);
  const Fusion fusion({.in = in.data(), .out = out.data(), .count = in.size()}, DataType::kFloat32);
  EXPECT_EQ(fusion.tensors().size(), 1);
  EXPECT_EQ(fusion.bytes(), 20);
  EXPECT_FALSE(fusion.in_place());
  EXPECT_EQ(fusion.Find(4, 16), BytesOf(in) + 4);
  EXPECT_EQ(fusion.Find(4, 20), nullptr);
  fusion.Scatter(8, 12, BytesOf(in), false);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 1, 1, 1}));
}

TEST(Fusion, MayBeEmpty) {
  const Fusion nothing(std::vector<Fusion::Tensor>(), DataType::kInt64);
  EXPECT_EQ(nothing.bytes(), 0);
  nothing.Gather(0, 0, nullptr);
  nothing.Scatter(0, 0, nullptr, false);
  EXPECT_EQ(nothing.Find(0, 0), nullptr);
}

}  // namespace
}  // namespace tony::collective
