// Allreduces of vectors that lie in memory which all ranks of the host can reach.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/host/host_ranks.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

/// Any numbers, the same for each test.
Bytes Numbers(size_t bytes, int seed) {
  Bytes numbers(bytes);
  std::mt19937 random(static_cast<unsigned>(seed));
  std::generate(numbers.begin(), numbers.end(), [&] { return random() % 4; });
  return numbers;
}

/// Where a rank's vectors lie.
enum class Place { kInPlace, kApart, kResultElsewhere, kElsewhere };

/// Takes a buffer of the arena, or another one.
class Buffer {
 public:
  Buffer(HostGroup& group, size_t bytes, bool shared) : arena_(group.arena()), own_(bytes) {
    if (shared) from_arena_ = arena_->Allocate(bytes);
    EXPECT_EQ(from_arena_ != nullptr, shared);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { EXPECT_TRUE(arena_->Free(from_arena_)); }
  unsigned char* data() {
    return from_arena_ == nullptr ? own_.data() : static_cast<unsigned char*>(from_arena_);
  }

 private:
  const std::shared_ptr<Arena> arena_;
  Bytes own_;
  void* from_arena_ = nullptr;
};

/// Checks on vectors with which all ranks do the same.
class DirectChecks {
 public:
  DirectChecks(HostGroup& group, const RankLine& line) : group_(group), line_(line) {}

  /// `at`: so many bytes from the buffers' beginnings. `direct`: all ranks' vectors lie in arenas,
  /// so they have to be reduced there: nothing of them is in a window or a slot.
  void Check(size_t bytes, size_t at, Place place, DataType type, ReduceOp op, bool direct) {
    Buffer in(group_, bytes + at, place != Place::kElsewhere);
    Buffer out(group_, bytes + at + 1, place == Place::kApart);
    Bytes expected = Numbers(bytes, 0);
    for (int rank = 1; rank < group_.ranks(); ++rank) {
      expected = Reference(expected, Numbers(bytes, rank), type, op);
    }
    const Bytes own = Numbers(bytes, group_.rank());
    std::copy(own.begin(), own.end(), in.data() + at);
    unsigned char* const result = place == Place::kInPlace ? in.data() + at : out.data() + at;
    if (place != Place::kInPlace) result[bytes] = 0xee;
    const uint32_t copied = line_.copied;
    const uint32_t placed = line_.placed;
    const Status done =
        group_.AllReduce(in.data() + at, result, bytes / SizeOf(type), type, op, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result)) << bytes << " bytes";
    EXPECT_TRUE(place == Place::kInPlace || result[bytes] == 0xee);
    EXPECT_EQ(line_.placed - placed, direct ? 1U : 0U) << bytes << " bytes, where they lie";
    const bool windows = !direct && bytes * Others() > kExchangeBytes;
    EXPECT_EQ(line_.copied != copied, windows) << bytes << " bytes, through windows";
    // No rank frees memory to which others still write.
    ASSERT_TRUE(group_.Barrier(After(kPatience)).ok());
  }
  size_t Others() const { return static_cast<size_t>(group_.ranks()) - 1; }

 private:
  HostGroup& group_;
  const RankLine& line_;
};

class HostDirectTest : public ::testing::TestWithParam<int> {};

TEST_P(HostDirectTest, IsTheSameWhereverVectorsLie) {
  InThreadsWithLines(GetParam(), [](HostGroup& group, const RankLine& line) {
    ASSERT_NE(group.arena(), nullptr);
    DirectChecks all(group, line);
    const std::vector<size_t> sizes = {kTinyBytes,     kTinyBytes + 8,     4096,
                                       kExchangeBytes, kExchangeBytes + 8, 3 * kPieceBytes + 1000,
                                       size_t{9} << 20};
    for (const size_t size : sizes) {
      for (const Place place : {Place::kInPlace, Place::kApart, Place::kResultElsewhere}) {
        // For the shortest ones nobody asks where they are.
        const bool direct = place != Place::kResultElsewhere && size * all.Others() > kTinyBytes;
        all.Check(size, 0, place, DataType::kFloat32, ReduceOp::kSum, direct);
      }
    }
    all.Check(kSlotBytes + 3, 5, Place::kInPlace, DataType::kUint8, ReduceOp::kSum, true);
    all.Check(2 * kSlotBytes, 24, Place::kApart, DataType::kInt16, ReduceOp::kProduct, true);
    all.Check(2 * kSlotBytes, 8, Place::kInPlace, DataType::kFloat64, ReduceOp::kMax, true);
  });
}

TEST_P(HostDirectTest, OneRankElsewhereIsEnough) {
  InThreadsWithLines(GetParam(), [](HostGroup& group, const RankLine& line) {
    DirectChecks all(group, line);
    for (int other = 0; other < group.ranks(); ++other) {
      const Place place = group.rank() == other ? Place::kElsewhere : Place::kInPlace;
      all.Check(2 * kPieceBytes, 0, place, DataType::kFloat32, ReduceOp::kSum, false);
      all.Check(2048, 0, place, DataType::kFloat32, ReduceOp::kSum, false);
      const Place apart = group.rank() == other ? Place::kInPlace : Place::kApart;
      all.Check(2 * kPieceBytes, 0, apart, DataType::kFloat32, ReduceOp::kSum, true);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, HostDirectTest, ::testing::Values(2, 3, 5),
                         ::testing::PrintToStringParamName());

TEST(HostDirect, WithoutRoomForArenasItGoesOn) {
  constexpr int kRanks = 2;
  const auto large = MemoryFor(kRanks);
  auto mapped = SharedMemory::Map(dup(large->descriptor()), HostMemory::BytesFor(kRanks));
  ASSERT_TRUE(mapped.ok());
  const std::shared_ptr<SharedMemory> memory = std::move(*mapped);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto group = Join(memory, rank, kRanks);
      EXPECT_EQ(group->arena(), nullptr);
      std::vector<float> vector(1 << 20, 1.0F);
      EXPECT_TRUE(group
                      ->AllReduce(vector.data(), vector.data(), vector.size(), DataType::kFloat32,
                                  ReduceOp::kSum, After(kPatience))
                      .ok());
      EXPECT_EQ(vector, std::vector<float>(vector.size(), 2.0F));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Its program has its vectors again then, while others are still at work on them.
TEST(HostDirect, NobodyWritesToWhoHasGivenUp) {
  constexpr size_t kCount = size_t{4} << 20;
  constexpr size_t kPart = kCount / 2;  // from here on rank 1 adds up
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool was_stopped = false;
  // It may be done before it can be stopped.
  while (!was_stopped && std::chrono::steady_clock::now() < until) {
    const auto memory = MemoryFor(2);
    const std::unique_ptr<HostGroup> groups[] = {Join(memory, 0, 2), Join(memory, 1, 2)};
    float* vectors[2];
    std::vector<std::thread> threads;
    Status done[2];
    for (int rank = 0; rank < 2; ++rank) {
      vectors[rank] = static_cast<float*>(groups[rank]->arena()->Allocate(kCount * sizeof(float)));
      std::fill_n(vectors[rank], kCount, 1.0F);
    }
    std::atomic<bool> over = false;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        done[rank] = groups[rank]->AllReduce(vectors[rank], vectors[rank], kCount,
                                             DataType::kFloat32, ReduceOp::kSum, After(kPatience));
        over = true;
      });
    }
    std::atomic_ref<float> first(vectors[0][kPart]);
    EXPECT_TRUE(Eventually([&] { return first.load() != 1.0F || over; }));
    groups[0]->Fail(0);
    for (std::thread& thread : threads) thread.join();
    was_stopped = !done[1].ok() && vectors[0][kCount - 1] == 1.0F;
  }
  EXPECT_TRUE(was_stopped);
}

/// It has told where its vector lies, but nobody has begun with it.
TEST(HostDirect, NobodyBeginsToWriteToWhoHasGivenUp) {
  constexpr size_t kCount = size_t{64} << 10;
  const auto memory = MemoryFor(2);
  const std::unique_ptr<HostGroup> groups[] = {Join(memory, 0, 2), Join(memory, 1, 2)};
  for (const int rank : {1, 0}) {
    const std::unique_ptr<HostGroup>& group = groups[rank];
    auto* const vector = static_cast<float*>(group->arena()->Allocate(kCount * sizeof(float)));
    std::fill_n(vector, kCount, 1.0F);
    const auto patience = rank == 1 ? std::chrono::milliseconds(1) : kPatience;
    const Status done = group->AllReduce(vector, vector, kCount, DataType::kFloat32, ReduceOp::kSum,
                                         After(patience));
    EXPECT_EQ(done.code(), Code::kDeadlineExceeded) << rank << ": " << done.message();
  }
  const auto* const given_up = reinterpret_cast<const float*>(
      memory->data() + HostMemory::BytesFor(2) + HostMemory::ArenasBytesFor(1));
  EXPECT_EQ(std::count(given_up, given_up + kCount, 1.0F), static_cast<ptrdiff_t>(kCount));
}

TEST(HostDirect, BuffersOutliveTheGroup) {
  auto memory = MemoryFor(1);
  auto group = Join(memory, 0, 1);
  const auto arena = group->arena();
  auto* buffer = static_cast<unsigned char*>(arena->Allocate(kPieceBytes));
  ASSERT_NE(buffer, nullptr);
  group.reset();
  memory.reset();
  std::memset(buffer, 7, kPieceBytes);
  EXPECT_EQ(buffer[kPieceBytes - 1], 7);
  EXPECT_TRUE(arena->Free(buffer));
}

}  // namespace
}  // namespace tony::collective
