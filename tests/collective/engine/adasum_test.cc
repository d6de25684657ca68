// Adasum, against a plain implementation of the paper's formula.
#include "collective/engine/adasum.h"

#include <cmath>
#include <limits>
#include <string>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/host/host_ranks.h"
#include "tests/collective/hosts/hosts_ranks.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
/// How ranks reach each other.
struct Ranks {
  std::string name;
  int count;
  std::function<void(const std::function<void(Group&)>&)> run;  ///< each in a thread of its own
};

Ranks OfOneHost(int count) {
  return {"Host" + std::to_string(count), count,
          [=](const std::function<void(Group&)>& body) { InThreads(count, body); }};
}
Ranks ThroughTcp(int count) {
  return {"Tcp" + std::to_string(count), count, [=](const std::function<void(Group&)>& body) {
            InMesh(count, [&](const std::shared_ptr<NetMesh>& mesh) {
              NetGroup group = GroupOfAll(mesh);
              body(group);
            });
          }};
}
Ranks OfHosts(const std::string& name, const HostTable& hosts) {
  return {"Hosts" + name, RanksOf(hosts),
          [=](const std::function<void(Group&)>& body) { InHosts(hosts, body); }};
}

/// The results by rank.
std::vector<Bytes> RunAdasum(const Ranks& ranks, const std::vector<Bytes>& in,
                             const std::vector<size_t>& counts, DataType type, bool in_place) {
  std::vector<Bytes> out(in.size());
  ranks.run([&](Group& group) {
    Adasum adasum(group);
    const auto rank = static_cast<size_t>(group.rank());
    out[rank] = in_place ? in[rank] : Bytes(in[rank].size());
    const void* from = in_place ? out[rank].data() : in[rank].data();
    const Status done = adasum.Reduce(from, out[rank].data(), counts, type, After(kPatience));
    EXPECT_TRUE(done.ok()) << done.message();
  });
  return out;
}

/// One vector after the other is the formula's result for those of all ranks.
void ExpectAdasum(const Bytes& result, const std::vector<Bytes>& in,
                  const std::vector<size_t>& counts, DataType type) {
  std::vector<size_t> sizes;
  for (const size_t count : counts) sizes.push_back(count * SizeOf(type));
  for (size_t vector = 0; vector < counts.size(); ++vector) {
    std::vector<std::vector<double>> own;
    for (const Bytes& one : in) own.push_back(Numbers(Cut(one, sizes)[vector], type));
    const std::vector<double> wanted = AdasumOf(own);
    const std::vector<double> numbers = Numbers(Cut(result, sizes)[vector], type);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double scale = std::max(1.0, std::abs(wanted[i]));
      ASSERT_NEAR(numbers[i], wanted[i], scale * AdasumPrecision(type))
          << NameOf(type) << " " << i << " of " << wanted.size();
    }
  }
}

class AdasumTest : public ::testing::TestWithParam<Ranks> {};

TEST_P(AdasumTest, IsThePapersFormulaAndTheSameBitsOnAllRanks) {
  const auto ranks = static_cast<size_t>(GetParam().count);
  std::mt19937 random(GetParam().count * 7);
  std::normal_distribution<double> normal;
  for (const DataType type : kFloatingTypes) {
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
      const std::vector<Bytes> out = RunAdasum(GetParam(), in, counts, type, total % 2 == 1);
      ExpectAdasum(out[0], in, counts, type);
      for (const Bytes& one : out) ASSERT_TRUE(one == out[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AdasumTest,
                         ::testing::Values(OfOneHost(1), OfOneHost(2), OfOneHost(3), OfOneHost(4),
                                           OfOneHost(5), OfOneHost(6), ThroughTcp(2), ThroughTcp(3),
                                           ThroughTcp(5), OfHosts("OneAlone", {{0}, {1, 2}}),
                                           OfHosts("Uneven", {{0, 1, 4}, {2, 3}}),
                                           OfHosts("Three", {{0, 5}, {1}, {2, 3, 4}})),
                         [](const auto& info) { return info.param.name; });

std::vector<double> AdasumOfDoubles(const std::vector<std::vector<double>>& vectors) {
  std::vector<Bytes> in;
  for (const auto& vector : vectors) in.push_back(FromNumbers(vector, DataType::kFloat64));
  const std::vector<Bytes> out = RunAdasum(OfOneHost(static_cast<int>(in.size())), in,
                                           {vectors[0].size()}, DataType::kFloat64, true);
  return Numbers(out[1], DataType::kFloat64);
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
