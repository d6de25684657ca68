// NaN and infinity through engines: they stay what they are, whichever way data goes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/meeting/meeting_ranks.h"

namespace tony::collective {
namespace {

constexpr int kRanks = 3;
/// Vectors by rank: all combinations of special numbers, `times` times.
std::vector<Bytes> SpecialVectors(DataType type, size_t times) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {
      std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0, -0.0, 1, -2};
  std::vector<std::vector<double>> vectors(kRanks);
  for (size_t time = 0; time < times; ++time) {
    for (const double a : special) {
      for (const double b : special) {
        for (const double c : special) {
          vectors[0].push_back(a);
          vectors[1].push_back(b);
          vectors[2].push_back(c);
        }
      }
    }
  }
  std::vector<Bytes> all;
  for (const auto& vector : vectors) all.push_back(FromNumbers(vector, type));
  return all;
}

/// `result` is `wanted` over and over again; which NaN it is does not matter.
void ExpectSame(const Bytes& result, const Bytes& wanted, DataType type, const std::string& what) {
  const std::vector<double> numbers = Numbers(result, type);
  const std::vector<double> other = Numbers(wanted, type);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double one = other[i % other.size()];
    ASSERT_TRUE(std::isnan(one)
                    ? std::isnan(numbers[i])
                    : numbers[i] == one && std::signbit(numbers[i]) == std::signbit(one))
        << what << ": " << numbers[i] << " at " << i << " instead of " << one;
  }
}

Bytes Reduced(const std::vector<Bytes>& in, Way way, const Kind& kind) {
  std::vector<Bytes> scaled;
  for (const Bytes& one : in) scaled.push_back(Scaled(one, kind.type, kind.prescale));
  const bool average = kind.reduce == ReduceOp::kAverage;
  const Bytes reduced = ReferenceByHosts(scaled, HostsOf(way, kRanks), kind.type,
                                         average ? ReduceOp::kSum : kind.reduce);
  return Scaled(reduced, kind.type, kind.postscale * (average ? 1.0 / kRanks : 1));
}

class EngineSpecialNumbersTest : public ::testing::TestWithParam<Way> {};

/// Short vectors and long ones.
TEST_P(EngineSpecialNumbersTest, AreReduced) {
  std::vector<Kind> kinds;
  for (const DataType type : kFloatingTypes) {
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAverage}) {
      kinds.push_back({.type = type, .reduce = op});
      kinds.push_back({.type = type, .reduce = op, .prescale = 0.5, .postscale = -2});
      kinds.push_back({.type = type, .reduce = op, .prescale = 0});  // of infinity it is a NaN
    }
  }
  EnginesMeet(GetParam(), kRanks, [&](Engine& engine, int rank) {
    for (const size_t times : {1, 300}) {
      for (const Kind& kind : kinds) {
        const Bytes wanted = Reduced(SpecialVectors(kind.type, 1), GetParam(), kind);
        const Bytes in = SpecialVectors(kind.type, times)[static_cast<size_t>(rank)];
        Bytes out(in.size());
        const std::string what =
            std::string(NameOf(kind.reduce)) + " of " + std::string(NameOf(kind.type));
        const Request request = {.name = what,
                                 .kind = kind,
                                 .shape = {static_cast<int64_t>(in.size() / SizeOf(kind.type))}};
        Promise done;
        ASSERT_TRUE(engine.AllReduce(request, in.data(), out.data(), done.Callback()).ok());
        const Status status = done.Get();
        ASSERT_TRUE(status.ok()) << status.message();
        ExpectSame(out, wanted, kind.type, what);
      }
    }
    MeetAgain(engine);
  });
}

/// Each bit, also of NaNs that arithmetic would make quiet.
TEST_P(EngineSpecialNumbersTest, AreMovedBitForBit) {
  EnginesMeet(GetParam(), kRanks, [&](Engine& engine, int rank) {
    for (const DataType type : kFloatingTypes) {
      for (const size_t count : {30U, 60000U}) {  // both can be split among ranks
        std::mt19937 random(static_cast<unsigned>(count));
        std::vector<Bytes> in;
        for (int r = 0; r < kRanks; ++r) {
          in.push_back(RandomVector(count * SizeOf(type), DataType::kUint8, random));
          // NaNs of any kind, but for their exponents.
          for (size_t i = SizeOf(type) - 1; i < in.back().size(); i += SizeOf(type)) {
            in.back()[i] |= 0x7f;
            if (SizeOf(type) > 1) in.back()[i - 1] |= 0xf0;
          }
        }
        const Bytes& own = in[static_cast<size_t>(rank)];
        Request request = {
            .name = "t", .kind = {.type = type}, .shape = {static_cast<int64_t>(count)}};
        Promise gathered, exchanged, sent;
        ASSERT_TRUE(engine.AllGather(request, own.data(), gathered.OutputCallback()).ok());
        request.name = "x";
        ASSERT_TRUE(engine.AllToAll(request, own.data(), exchanged.OutputCallback()).ok());
        request.name = "b";
        request.kind.root = 1;
        Bytes data = own;
        ASSERT_TRUE(engine.Broadcast(request, data.data(), sent.Callback()).ok());
        const auto [gather, all] = gathered.GetAll();
        ASSERT_TRUE(gather.ok()) << gather.message();
        const Bytes wanted = Concatenated(in);
        EXPECT_EQ(std::memcmp(all.data.get(), wanted.data(), wanted.size()), 0) << NameOf(type);
        const auto [exchange, parts] = exchanged.GetAll();
        ASSERT_TRUE(exchange.ok()) << exchange.message();
        const std::vector<size_t> sizes(kRanks, own.size() / kRanks);
        std::vector<Bytes> received;
        for (const Bytes& one : in) received.push_back(Cut(one, sizes)[static_cast<size_t>(rank)]);
        const Bytes mine = Concatenated(received);
        EXPECT_EQ(std::memcmp(parts.data.get(), mine.data(), mine.size()), 0) << NameOf(type);
        EXPECT_TRUE(sent.Get().ok());
        EXPECT_TRUE(data == in[1]) << NameOf(type);
      }
    }
    MeetAgain(engine);
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineSpecialNumbersTest,
                         ::testing::Values(Way::kMemory, Way::kTcp, Way::kHosts), NameOfWay);

}  // namespace
}  // namespace tony::collective
