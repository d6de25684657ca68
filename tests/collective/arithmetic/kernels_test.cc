// Each kernel of each instruction set that this machine has, against plain arithmetic.
#include "collective/arithmetic/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/collective/arithmetic/reference.h"

namespace tony::collective {
namespace {

/// By the name of an instruction set; null: this machine does not have it.
const Kernels* KernelsOf(const std::string& set) {
  const std::string best = BestKernels().instruction_set;
  if (set == "x86-64") return &BaseKernels();
  if (set == "avx2") return best == "x86-64" ? nullptr : &Avx2Kernels();
  return best == "avx512" ? &Avx512Kernels() : nullptr;
}

class KernelsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = KernelsOf(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine does not have these instructions";
  }
  /// Calls `check(type, operation)` for all of them.
  template <typename Check>
  static void ForAll(const Check& check) {
    for (size_t type = 0; type < kDataTypes; ++type) {
      for (size_t op = 0; op < kReduceOps; ++op) {
        check(static_cast<DataType>(type), static_cast<ReduceOp>(op));
      }
    }
  }

  const Kernels* kernels_ = nullptr;
  std::mt19937 random_{1};
};

TEST_P(KernelsTest, ArePlainArithmetic) {
  ForAll([&](DataType type, ReduceOp op) {
    for (const size_t count : {0, 1, 2, 7, 8, 9, 31, 63, 64, 65, 1000}) {
      const Bytes a = RandomVector(count, type, random_);
      const Bytes b = RandomVector(count, type, random_);
      Bytes out(a.size());
      kernels_->Reduce(type, op)(out.data(), a.data(), b.data(), count);
      EXPECT_EQ(out, Reference(a, b, type, op)) << NameOf(type) << NameOf(op) << count;
    }
  });
}

/// Sums in any order are as good; but of all instruction sets the same.
TEST_P(KernelsTest, DotProductsAndMixtures) {
  for (size_t type = 0; type < kDataTypes; ++type) {
    const auto floating = static_cast<DataType>(type);
    if (!IsFloating(floating)) continue;
    for (const size_t count : {0, 1, 7, 8, 9, 64, 1001}) {
      const Bytes a = RandomVector(count, floating, random_);
      const Bytes b = RandomVector(count, floating, random_);
      const std::vector<double> x = Numbers(a, floating);
      const std::vector<double> y = Numbers(b, floating);
      double sums[3] = {1, 2, 3}, base_sums[3] = {1, 2, 3}, wanted[3] = {1, 2, 3};
      std::vector<double> mixture;
      for (size_t i = 0; i < count; ++i) {
        wanted[0] += x[i] * y[i];
        wanted[1] += x[i] * x[i];
        wanted[2] += y[i] * y[i];
        mixture.push_back(0.75 * x[i] - 0.3 * y[i]);
      }
      kernels_->Dots(floating)(sums, a.data(), b.data(), count);
      BaseKernels().Dots(floating)(base_sums, a.data(), b.data(), count);
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(sums[i], wanted[i], 1e-12 * wanted[1] + 1e-12 * wanted[2]);
        EXPECT_EQ(sums[i], base_sums[i]);
      }
      Bytes out(a);
      kernels_->Mix(floating)(out.data(), out.data(), b.data(), count, 0.75, -0.3);
      EXPECT_EQ(out, FromNumbers(mixture, floating)) << NameOf(floating) << count;
    }
  }
}

TEST_P(KernelsTest, InPlaceAndUnaligned) {
  ForAll([&](DataType type, ReduceOp op) {
    for (const size_t offset : {0, 1, 3, 8}) {
      const Bytes a = RandomVector(301, type, random_);
      const Bytes b = RandomVector(301, type, random_);
      for (const bool first : {true, false}) {
        const Bytes& replaced = first ? a : b;
        Bytes room(offset, 0xee);
        room.insert(room.end(), replaced.begin(), replaced.end());
        room.push_back(0xee);
        unsigned char* out = &room[offset];
        kernels_->Reduce(type, op)(out, first ? out : a.data(), first ? b.data() : out, 301);
        EXPECT_EQ(Bytes(out, out + a.size()), Reference(a, b, type, op)) << NameOf(type);
        EXPECT_EQ(room.back(), 0xee) << "behind the end";
      }
    }
  });
}

/// Multiplying by one shows both conversions: each value comes back.
TEST_P(KernelsTest, EachValueOf16Bits) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    const std::vector<uint16_t> ones(all.size(), type == DataType::kFloat16 ? 0x3c00 : 0x3f80);
    std::vector<uint16_t> out(all.size());
    kernels_->Reduce(type, ReduceOp::kProduct)(out.data(), all.data(), ones.data(), all.size());
    const uint16_t infinity = type == DataType::kFloat16 ? 0x7c00 : 0x7f80;
    const uint16_t quiet = type == DataType::kFloat16 ? 0x0200 : 0x0040;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool nan = (all[i] & 0x7fff) > infinity;
      ASSERT_EQ(out[i], nan ? all[i] | quiet : all[i]) << NameOf(type) << " " << i;
    }
  }
}

/// The exact sums lie between two values of 16 bits.
TEST_P(KernelsTest, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 random(2);
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    Bytes a(200000);
    Bytes b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<unsigned char>(random());
      // Close to each other, so that the sum has bits of both.
      b[i] = i % 2 == 0 ? static_cast<unsigned char>(random()) : a[i] ^ (random() % 4);
      if (i % 2 != 0) a[i] &= 0xbf, b[i] &= 0xbf;
    }
    Bytes out(a.size());
    kernels_->Reduce(type, ReduceOp::kSum)(out.data(), a.data(), b.data(), a.size() / 2);
    EXPECT_EQ(out, Reference(a, b, type, ReduceOp::kSum)) << NameOf(type);
  }
}

/// Each pair of special numbers, in each place of a vector register, and in the rest.
TEST_P(KernelsTest, NaNAndInfinityPassThrough) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {
      std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0, -0.0, 1, -2};
  for (const DataType type : kFloatingTypes) {
    for (size_t op = 0; op < kReduceOps; ++op) {
      std::vector<double> x, y;
      for (size_t i = 0; i < 67; ++i) {
        for (const double a : special) {
          for (const double b : special) {
            x.push_back(a);
            y.push_back(b);
          }
        }
      }
      const Bytes a = FromNumbers(x, type);
      const Bytes b = FromNumbers(y, type);
      Bytes out(a.size());
      kernels_->Reduce(type, static_cast<ReduceOp>(op))(out.data(), a.data(), b.data(), x.size());
      const std::vector<double> result = Numbers(out, type);
      for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = Combine(x[i], y[i], static_cast<ReduceOp>(op));
        const bool nan = std::isnan(x[i]) || std::isnan(y[i]);
        ASSERT_TRUE(std::isnan(result[i]) || !nan) << "a NaN is lost";
        ASSERT_TRUE(std::isnan(wanted)
                        ? std::isnan(result[i])
                        : result[i] == wanted && std::signbit(result[i]) == std::signbit(wanted))
            << NameOf(static_cast<ReduceOp>(op)) << " of " << NameOf(type) << " " << x[i] << " and "
            << y[i] << " is " << result[i];
      }
    }
  }
}

TEST_P(KernelsTest, NaNAndInfinityTimesAFactor) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DataType type : kFloatingTypes) {
    const auto scaled = [&](double number, double factor) {
      Bytes data = FromNumbers(std::vector<double>(37, number), type);
      kernels_->Scale(type)(data.data(), data.data(), 37, factor);
      const std::vector<double> result = Numbers(data, type);
      const bool all_nan =
          std::all_of(result.begin(), result.end(), [](double one) { return std::isnan(one); });
      EXPECT_TRUE(all_nan || std::count(result.begin(), result.end(), result[0]) == 37);
      return result[36];
    };
    EXPECT_EQ(scaled(infinity, 0.5), infinity);
    EXPECT_EQ(scaled(infinity, -2), -infinity);
    EXPECT_TRUE(std::isnan(scaled(infinity, 0)));
    EXPECT_TRUE(std::isnan(scaled(nan, 0.5)));
    // More than the type holds.
    const double large = type == DataType::kFloat16   ? 60000
                         : type == DataType::kFloat64 ? 1e308
                                                      : 3e38;
    EXPECT_EQ(scaled(-large, 4), -infinity);
  }
}

TEST_P(KernelsTest, Scale) {
  const auto scaled = [&](auto values, DataType type, double factor) {
    kernels_->Scale(type)(values.data(), values.data(), values.size(), factor);
    return values;
  };
  EXPECT_EQ(scaled(std::vector<float>(19, 3), DataType::kFloat32, 0.5),
            std::vector<float>(19, 1.5));
  EXPECT_EQ(scaled(std::vector<double>(19, 1), DataType::kFloat64, 0.1),
            std::vector<double>(19, 0.1));
  EXPECT_EQ(scaled(std::vector<int32_t>(19, -7), DataType::kInt32, 0.5),
            std::vector<int32_t>(19, -3));
  EXPECT_EQ(scaled(std::vector<uint64_t>(9, 10), DataType::kUint64, 2),
            std::vector<uint64_t>(9, 20));
  EXPECT_EQ(scaled(std::vector<uint8_t>(9, 1), DataType::kBool, 0.1), std::vector<uint8_t>(9, 1));
  // 3 · 0.5 in both forms of 16 bits.
  EXPECT_EQ(scaled(std::vector<uint16_t>(9, 0x4200), DataType::kFloat16, 0.5),
            std::vector<uint16_t>(9, 0x3e00));
  EXPECT_EQ(scaled(std::vector<uint16_t>(9, 0x4040), DataType::kBfloat16, 0.5),
            std::vector<uint16_t>(9, 0x3fc0));
}

TEST_P(KernelsTest, StreamCopyCopies) {
  std::mt19937 random(3);
  const Bytes from = RandomVector(5000, DataType::kUint8, random);
  for (const size_t offset : {0, 1, 17, 63}) {
    for (const size_t size : {0, 1, 63, 64, 65, 127, 128, 4096, 4700}) {
      Bytes to(offset + size + 1, 0xee);
      kernels_->stream_copy(&to[offset], from.data() + 3, size);
      EXPECT_TRUE(std::equal(to.begin() + offset, to.end() - 1, from.begin() + 3));
      EXPECT_EQ(to.back(), 0xee) << "behind the end";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest, ::testing::Values("x86-64", "avx2", "avx512"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tony::collective
