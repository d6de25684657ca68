// Each operation through the double of NCCL, against plain arithmetic.
#include "collective/gpu/nccl_group.h"

#include <random>

#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

bool IsForNccl(DataType type) { return type != DataType::kInt16 && type != DataType::kUint16; }

/// The same at each rank.
std::vector<Bytes> Inputs(int ranks, size_t count, DataType type, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(RandomVector(count, type, random));
  return inputs;
}

Bytes Reduced(const std::vector<Bytes>& inputs, DataType type, ReduceOp op) {
  Bytes result = inputs[0];
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    result = Reference(result, inputs[rank], type, op);
  }
  return result;
}

/// Lengths that differ, some of them 0, but not all.
std::vector<size_t> Lengths(size_t ranks, unsigned seed, bool even) {
  std::vector<size_t> lengths(ranks, 5 + seed % 7);
  for (size_t i = 0; !even && i < ranks; ++i) lengths[i] = (i * 7 + seed) % 5;
  lengths[seed % ranks] += even ? 0 : 3;
  return lengths;
}

size_t Before(const std::vector<size_t>& lengths, size_t rank) {
  return std::accumulate(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(rank),
                         size_t{0});
}

Bytes Part(const Bytes& bytes, size_t begin, size_t size) {
  const auto from = bytes.begin() + static_cast<ptrdiff_t>(begin);
  return {from, from + static_cast<ptrdiff_t>(size)};
}

class NcclGroupTest : public GpuTest, public ::testing::WithParamInterface<int> {
 protected:
  int ranks() const { return GetParam(); }
  size_t count() const { return static_cast<size_t>(GetParam()); }
};

TEST_P(NcclGroupTest, AllReduceOfEachTypeAndOperation) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    unsigned seed = 0;
    for (size_t t = 0; t < kDataTypes; ++t) {
      for (size_t o = 0; o < kReduceOps; ++o) {
        const auto type = static_cast<DataType>(t);
        const auto op = static_cast<ReduceOp>(o);
        if (!IsForNccl(type)) continue;
        for (const size_t size : {0, 1, 2, 1000}) {
          const auto inputs = Inputs(ranks(), size, type, ++seed);
          const Bytes& in = inputs[static_cast<size_t>(group.rank())];
          Bytes out = in;
          const bool in_place = seed % 2 == 0;
          const Status done = group.AllReduce(in_place ? out.data() : in.data(), out.data(), size,
                                              type, op, After(kPatience));
          ASSERT_TRUE(done.ok()) << done.message();
          ASSERT_EQ(out, Reduced(inputs, type, op)) << NameOf(op) << " of " << NameOf(type);
        }
      }
    }
  });
}

TEST_P(NcclGroupTest, Average) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    const auto of = [&](int rank) { return static_cast<double>(rank * 3 + 1); };
    double expected = 0;
    for (int rank = 0; rank < ranks(); ++rank) expected += of(rank) / ranks();
    std::vector<double> wide(9, of(group.rank()));
    ASSERT_TRUE(
        group.Average(wide.data(), wide.data(), 9, DataType::kFloat64, After(kPatience)).ok());
    EXPECT_DOUBLE_EQ(wide[8], expected);
    std::vector<float> single(9, static_cast<float>(of(group.rank())));
    ASSERT_TRUE(
        group.Average(single.data(), single.data(), 9, DataType::kFloat32, After(kPatience)).ok());
    EXPECT_FLOAT_EQ(single[8], static_cast<float>(expected));
    const auto narrow = static_cast<float>(of(group.rank()));
    uint16_t half = HalfReference::Store(narrow);
    ASSERT_TRUE(group.Average(&half, &half, 1, DataType::kFloat16, After(kPatience)).ok());
    EXPECT_EQ(half, HalfReference::Store(static_cast<float>(expected)));
    uint16_t bfloat = BfloatReference::Store(narrow);
    ASSERT_TRUE(group.Average(&bfloat, &bfloat, 1, DataType::kBfloat16, After(kPatience)).ok());
    EXPECT_EQ(bfloat, BfloatReference::Store(static_cast<float>(expected)));
  });
}

TEST_P(NcclGroupTest, AllGatherOfAnyLengths) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    const auto rank = static_cast<size_t>(group.rank());
    for (unsigned seed = 0; seed < 20; ++seed) {
      const auto lengths = Lengths(count(), seed, seed % 3 == 0);
      Bytes expected;
      for (size_t n = 0; n < count(); ++n) {
        expected.insert(expected.end(), lengths[n], static_cast<unsigned char>(seed * 10 + n));
      }
      const Bytes in(lengths[rank], static_cast<unsigned char>(seed * 10 + rank));
      Bytes out(expected.size(), 0xee);
      const bool in_place = seed % 2 == 0;
      unsigned char* const own = out.data() + Before(lengths, rank);
      if (in_place) std::copy(in.begin(), in.end(), own);
      const Status done =
          group.AllGather(in_place ? own : in.data(), out.data(), lengths, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_EQ(out, expected) << seed;
    }
  });
}

TEST_P(NcclGroupTest, BroadcastFromEach) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    for (int root = 0; root < ranks(); ++root) {
      for (const size_t bytes : {0, 1, 777}) {
        Bytes data(bytes, static_cast<unsigned char>(group.rank()));
        const Status done = group.Broadcast(data.data(), bytes, root, After(kPatience));
        ASSERT_TRUE(done.ok()) << done.message();
        ASSERT_EQ(data, Bytes(bytes, static_cast<unsigned char>(root)));
      }
    }
  });
}

TEST_P(NcclGroupTest, ReduceScatterOfAnyCounts) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    const auto rank = static_cast<size_t>(group.rank());
    for (unsigned seed = 0; seed < 60; ++seed) {
      const auto type = static_cast<DataType>(seed % kDataTypes);
      const auto op = static_cast<ReduceOp>(seed / 3 % kReduceOps);
      if (!IsForNccl(type)) continue;
      const auto counts = Lengths(count(), seed, seed % 4 == 0);
      const auto inputs = Inputs(ranks(), Before(counts, count()), type, seed);
      const size_t begin = Before(counts, rank) * SizeOf(type);
      const size_t size = counts[rank] * SizeOf(type);
      Bytes in = inputs[rank];
      Bytes out(size, 0xee);
      const Status done =
          group.ReduceScatter(in.data(), out.data(), counts, type, op, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_EQ(out, Part(Reduced(inputs, type, op), begin, size)) << seed;
    }
  });
}

TEST_P(NcclGroupTest, AllToAllOfAnyLengths) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    const auto rank = static_cast<size_t>(group.rank());
    // From one to another; a rank has always something for itself.
    const auto length = [&](size_t from, size_t to, size_t seed) {
      return from == to ? size_t{2} : (from * 5 + to * 3 + seed) % 4;
    };
    for (size_t seed = 0; seed < 20; ++seed) {
      std::vector<size_t> sent;
      std::vector<size_t> received;
      Bytes in;
      Bytes expected;
      for (size_t peer = 0; peer < count(); ++peer) {
        sent.push_back(length(rank, peer, seed));
        received.push_back(length(peer, rank, seed));
        in.insert(in.end(), sent.back(), static_cast<unsigned char>(rank * 16 + peer));
        expected.insert(expected.end(), received.back(),
                        static_cast<unsigned char>(peer * 16 + rank));
      }
      Bytes out(expected.size(), 0xee);
      const Status done = group.AllToAll(in.data(), sent, out.data(), received, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_EQ(out, expected) << seed;
    }
  });
}

TEST_P(NcclGroupTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> came{0};
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    group.Defer(group.rank() == 0);
    for (int round = 1; round <= 20; ++round) {
      ++came;
      const Status done = group.Barrier(After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_GE(came, ranks() * round);
      ASSERT_TRUE(group.Barrier(After(kPatience)).ok());
    }
  });
}

/// Arguments are the same at all ranks, so none of them begins.
TEST_P(NcclGroupTest, WhatNcclDoesNotHaveIsRefusedAndTheGroupGoesOn) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    int16_t value = 1;
    for (const DataType type : {DataType::kInt16, DataType::kUint16}) {
      const Status refused =
          group.AllReduce(&value, &value, 1, type, ReduceOp::kSum, After(kPatience));
      EXPECT_EQ(refused.code(), Code::kInvalidArgument);
      EXPECT_EQ(refused.message(), "NCCL cannot reduce " + std::string(NameOf(type)) +
                                       "; cast it to int32, or reduce it on CPUs");
    }
    EXPECT_EQ(group.Average(&value, &value, 1, DataType::kInt32, After(kPatience)).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(group.Average(&value, &value, 1, DataType::kBool, After(kPatience)).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(group.Broadcast(&value, 1, ranks(), After(kPatience)).code(), Code::kInvalidArgument);
    EXPECT_EQ(group.Broadcast(&value, 1, -1, After(kPatience)).code(), Code::kInvalidArgument);
    const std::vector<size_t> lengths(count() + 1, 1);
    EXPECT_EQ(group.AllGather(&value, &value, lengths, After(kPatience)).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(group.AllToAll(&value, lengths, &value, lengths, After(kPatience)).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(group
                  .ReduceScatter(&value, &value, lengths, DataType::kInt32, ReduceOp::kSum,
                                 After(kPatience))
                  .code(),
              Code::kInvalidArgument);
    EXPECT_TRUE(group.Barrier(After(kPatience)).ok());
  });
  EXPECT_EQ(fake().destroyed, ranks());
  EXPECT_EQ(fake().aborted, 0);
}

/// Lists of any sizes up to several buffers; ranks that lack a tensor, or want no result; factors.
TEST_P(NcclGroupTest, TensorsThatAreFused) {
  OnConnectedRanks(ranks(), [&](NcclGroup& group) {
    EXPECT_EQ(group.limitation(), "");
    for (unsigned seed = 0; seed < 40; ++seed) {
      std::mt19937 random(seed);
      const double before = seed % 3 == 1 ? 0.5 : 1;
      const double after = seed % 4 == 2 ? 0.25 : 1;
      const bool in_place = seed % 2 == 0;
      std::vector<std::vector<float>> in;
      std::vector<std::vector<float>> out;
      std::vector<std::vector<float>> expected;
      std::vector<Fusion::Tensor> tensors;
      for (size_t i = 0; i < 1 + seed % 20; ++i) {
        const size_t size = i % 5 == 4 ? random() % 4000 : random() % 200;
        const int lacking = static_cast<int>(random() % 8);
        const int unwanted = static_cast<int>(random() % 8);
        float sum = 0;
        for (int rank = 0; rank < ranks(); ++rank) {
          if (rank != lacking) sum += static_cast<float>(before * (rank + 1));
        }
        in.emplace_back(size, static_cast<float>(group.rank() + 1));
        const bool has = group.rank() != lacking;
        const bool wants = group.rank() != unwanted;
        out.push_back(in_place ? in.back() : std::vector<float>(size, 99));
        expected.push_back(wants ? std::vector<float>(size, static_cast<float>(sum * after))
                                 : out.back());
        // The bytes after the result must stay unchanged.
        out.back().resize(size + 8, 99);
        expected.back().resize(size + 8, 99);
        float* const result = out.back().data();
        const float* const own = in_place ? result : in.back().data();
        tensors.push_back({has ? own : nullptr, wants ? result : nullptr, size});
      }
      const Status done = group.AllReduceFused(Fusion(tensors, DataType::kFloat32, before, after),
                                               ReduceOp::kSum, After(kPatience));
      ASSERT_TRUE(done.ok()) << done.message();
      ASSERT_EQ(out, expected) << seed;
    }
    const Status none =
        group.AllReduceFused(Fusion(std::vector<Fusion::Tensor>(), DataType::kFloat32),
                             ReduceOp::kSum, After(kPatience));
    EXPECT_TRUE(none.ok()) << none.message();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclGroupTest, ::testing::Values(1, 2, 3, 4),
                         ::testing::PrintToStringParamName());

/// Process sets that overlap: a rank is in both.
using NcclGroups = GpuTest;
TEST_F(NcclGroups, TwoAtOnce) {
  const std::string all = NewId();
  const std::string some = NewId();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto group = NewGroup(rank, 3, all);
      ASSERT_TRUE(group->Connect(After(kPatience)).ok());
      int32_t sum = rank;
      ASSERT_TRUE(
          group->AllReduce(&sum, &sum, 1, DataType::kInt32, ReduceOp::kSum, After(kPatience)).ok());
      EXPECT_EQ(sum, 3);
      if (rank == 0) return;
      const auto pair = NewGroup(rank - 1, 2, some);
      ASSERT_TRUE(pair->Connect(After(kPatience)).ok());
      ASSERT_TRUE(
          pair->AllReduce(&sum, &sum, 1, DataType::kInt32, ReduceOp::kSum, After(kPatience)).ok());
      EXPECT_EQ(sum, 6);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tony::collective
