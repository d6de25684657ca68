#include "collective/group/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace tony::collective {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 64 * kPage;

class ArenaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(memory_, 0);
    ASSERT_EQ(ftruncate(memory_, kBytes), 0);
    ASSERT_NE(mapped_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0),
              MAP_FAILED);
    begin_ = static_cast<std::byte*>(mapped_);
  }
  void TearDown() override {
    munmap(mapped_, kBytes);
    close(memory_);
  }
  /// Pages that take memory.
  size_t Pages() const {
    struct stat status {};
    EXPECT_EQ(fstat(memory_, &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512 / kPage;
  }

  const int memory_ = memfd_create("arena_test", MFD_CLOEXEC);
  void* mapped_ = nullptr;
  std::byte* begin_ = nullptr;
};

TEST_F(ArenaTest, GivesLinesThatNobodyShares) {
  Arena arena(nullptr, begin_, kBytes);
  void* first = arena.Allocate(1);
  void* second = arena.Allocate(65);
  void* third = arena.Allocate(0);
  EXPECT_EQ(first, begin_);
  EXPECT_EQ(second, begin_ + 64);
  EXPECT_EQ(third, begin_ + 192);
}

TEST_F(ArenaTest, SaysWhatIsItsOwn) {
  Arena arena(nullptr, begin_, kBytes);
  auto* first = static_cast<std::byte*>(arena.Allocate(128));
  auto* second = static_cast<std::byte*>(arena.Allocate(128));
  EXPECT_EQ(arena.OffsetOf(first, 128), 0);
  EXPECT_EQ(arena.OffsetOf(second + 8, 120), 136);
  EXPECT_EQ(arena.OffsetOf(begin_, kBytes), 0);
  EXPECT_EQ(arena.OffsetOf(begin_ + 1, kBytes), std::nullopt) << "its end is elsewhere";
  EXPECT_EQ(arena.OffsetOf(begin_ + 1, SIZE_MAX), std::nullopt);
  EXPECT_EQ(arena.OffsetOf(begin_ - 1, 1), std::nullopt);
  EXPECT_EQ(arena.OffsetOf(begin_ + kBytes, 1), std::nullopt);
  EXPECT_EQ(arena.OffsetOf(&arena, 1), std::nullopt);
  EXPECT_TRUE(arena.Free(first));
  EXPECT_FALSE(arena.Free(first)) << "it was freed already";
  EXPECT_FALSE(arena.Free(second + 64));
  EXPECT_TRUE(arena.Free(nullptr));
}

TEST_F(ArenaTest, IsFullWhenThereIsNoRoom) {
  Arena arena(nullptr, begin_, kBytes);
  EXPECT_EQ(arena.Allocate(kBytes + 1), nullptr);
  EXPECT_EQ(arena.Allocate(SIZE_MAX), nullptr);
  void* all = arena.Allocate(kBytes);
  EXPECT_EQ(all, begin_);
  EXPECT_EQ(arena.Allocate(1), nullptr);
  EXPECT_TRUE(arena.Free(all));
  EXPECT_EQ(arena.Allocate(kBytes), begin_);
  Arena nothing(nullptr, begin_, 0);
  EXPECT_EQ(nothing.Allocate(1), nullptr);
}

TEST_F(ArenaTest, GivesPagesBackThatNobodyUses) {
  Arena arena(nullptr, begin_, kBytes);
  void* first = arena.Allocate(kPage + 64);
  void* second = arena.Allocate(kPage);
  std::memset(first, 1, kPage + 64);
  std::memset(second, 2, kPage);
  EXPECT_EQ(Pages(), 3);
  EXPECT_TRUE(arena.Free(first));
  EXPECT_EQ(Pages(), 2) << "the second page is of both";
  for (size_t i = 0; i < kPage; ++i) ASSERT_EQ(static_cast<std::byte*>(second)[i], std::byte{2});
  EXPECT_TRUE(arena.Free(second));
  EXPECT_EQ(Pages(), 0);
}

TEST_F(ArenaTest, KeepsApartWhatComesAndGoes) {
  Arena arena(nullptr, begin_, kBytes);
  struct Piece {
    std::byte* data;
    size_t size;
    std::byte value;
  };
  std::vector<Piece> pieces;
  std::mt19937 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    if (random() % 2 == 0) {
      const size_t size = random() % (3 * kPage);
      auto* data = static_cast<std::byte*>(arena.Allocate(size));
      if (data == nullptr) continue;
      const auto value = static_cast<std::byte>(turn);
      std::memset(data, static_cast<int>(value), size);
      pieces.push_back({data, size, value});
    } else if (!pieces.empty()) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const auto [data, size, value] = pieces.back();
      pieces.pop_back();
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(data[i], value);
      ASSERT_TRUE(arena.Free(data));
    }
  }
  for (const Piece& piece : pieces) ASSERT_TRUE(arena.Free(piece.data));
  EXPECT_EQ(Pages(), 0);
  EXPECT_EQ(arena.Allocate(kBytes), begin_) << "all of it is one piece again";
}

}  // namespace
}  // namespace tony::collective
