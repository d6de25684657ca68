// Adasum, against a plain implementation of the paper's formula.
#include "collective/engine/adasum.h"

#include <cmath>
#include <limits>

#include "tests/collective/host_ranks.h"
#include "tests/collective/reference.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                               DataType::kFloat64};

/// Of how many bits a result is sure, after a few roundings.
double PrecisionOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 4e-3;
    case DataType::kBfloat16:
      return 3e-2;
    case DataType::kFloat32:
      return 1e-6;
    default:
      return 1e-12;
  }
}

/// Of each rank.
std::vector<Bytes> RunAdasum(const std::vector<Bytes>& in, const std::vector<size_t>& counts,
                             DataType type, bool in_place) {
  std::vector<Bytes> out(in.size());
  InThreads(static_cast<int>(in.size()), [&](HostGroup& group) {
    Adasum adasum(group);
    const auto rank = static_cast<size_t>(group.rank());
    out[rank] = in_place ? in[rank] : Bytes(in[rank].size());
    const void* from = in_place ? out[rank].data() : in[rank].data();
    const Status done = adasum.Reduce(from, out[rank].data(), counts, type, After(kPatience));
    EXPECT_TRUE(done.ok()) << done.message();
  });
  return out;
}

class AdasumTest : public ::testing::TestWithParam<int> {};

TEST_P(AdasumTest, IsThePapersFormulaAndTheSameBitsOnAllRanks) {
  const auto ranks = static_cast<size_t>(GetParam());
  std::mt19937 random(GetParam() * 7);
  std::normal_distribution<double> normal;
  for (const DataType type : kTypes) {
    for (const std::vector<size_t>& counts :
         {std::vector<size_t>{1}, {0}, {1000}, {3, 0, 1, 500, 17}, {40000, 7}}) {
      std::vector<Bytes> in;
      size_t total = 0;
      for (const size_t count : counts) total += count;
      std::vector<double> common(total);  // so that dot products are not all about 0
      for (double& number : common) number = normal(random);
      for (size_t rank = 0; rank < ranks; ++rank) {
        std::vector<double> numbers = common;
        for (double& number : numbers) number += normal(random);
        in.push_back(FromNumbers(numbers, type));
      }
      const std::vector<Bytes> out = RunAdasum(in, counts, type, total % 2 == 1);
      std::vector<size_t> sizes;
      for (const size_t count : counts) sizes.push_back(count * SizeOf(type));
      for (size_t vector = 0; vector < counts.size(); ++vector) {
        std::vector<std::vector<double>> own;
        for (const Bytes& one : in) own.push_back(Numbers(Cut(one, sizes)[vector], type));
        const std::vector<double> wanted = AdasumOf(own);
        const std::vector<double> result = Numbers(Cut(out[0], sizes)[vector], type);
        for (size_t i = 0; i < wanted.size(); ++i) {
          const double scale = std::max(1.0, std::abs(wanted[i]));
          ASSERT_NEAR(result[i], wanted[i], 4 * scale * PrecisionOf(type))
              << NameOf(type) << " " << i << " of " << wanted.size();
        }
      }
      for (const Bytes& one : out) ASSERT_TRUE(one == out[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AdasumTest, ::testing::Values(1, 2, 3, 4, 5, 6),
                         ::testing::PrintToStringParamName());

std::vector<double> AdasumOfDoubles(const std::vector<std::vector<double>>& vectors) {
  std::vector<Bytes> in;
  for (const auto& vector : vectors) in.push_back(FromNumbers(vector, DataType::kFloat64));
  return Numbers(RunAdasum(in, {vectors[0].size()}, DataType::kFloat64, true)[1],
                 DataType::kFloat64);
}

TEST(AdasumCases, TheSameVectorsAreAveragedAndOrthogonalOnesAdded) {
  const std::vector<double> a = {3, 4};
  EXPECT_EQ(AdasumOfDoubles({a, a, a, a}), a);
  EXPECT_EQ(AdasumOfDoubles({{3, 0}, {0, 5}}), (std::vector<double>{3, 5}));
  // A vector of zeros, as of a rank that has joined, adds nothing.
  EXPECT_EQ(AdasumOfDoubles({a, {0, 0}, a}), a);
}

TEST(AdasumCases, ANanStaysOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> result = AdasumOfDoubles({{nan, 1}, {1, 1}});
  EXPECT_TRUE(std::isnan(result[0]));
}

}  // namespace
}  // namespace tony::collective
