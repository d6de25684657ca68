// Tensors with more elements than 32 bits can count, through shared memory and through TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "tests/collective/engine/engine_ranks.h"
#include "tests/collective/net/net_ranks.h"

namespace tony::collective {
namespace {

using ::testing::ElementsAre;

constexpr size_t kCount = (size_t{1} << 31) + 77;
constexpr size_t kHalf = (size_t{1} << 30) + 39;  // together more than 31 bits
constexpr size_t kNeeded = size_t{8} << 30;       // two results, and what a machine needs besides

size_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  size_t kilobytes = 0;
  while (file >> name) {
    if (name == "MemAvailable:" && file >> kilobytes) break;
  }
  return kilobytes << 10;
}

/// Zeros, of which only those pages take memory that are written to.
class Zeros {
 public:
  explicit Zeros(size_t size)
      : size_(size),
        data_(static_cast<uint8_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { munmap(data_, size_); }

  uint8_t* data() { return data_; }

 private:
  const size_t size_;
  uint8_t* const data_;
};

/// Where sizes that are cut to 32 bits would be wrong, and at both ends.
std::set<size_t> Places(size_t count) {
  std::set<size_t> places = {0, 1, count / 2, count - 1};
  for (const size_t edge : {size_t{1} << 30, size_t{1} << 31}) {
    for (const size_t place : {edge - 1, edge, edge + 1}) {
      if (place < count) places.insert(place);
    }
  }
  return places;
}

/// This value there, and nothing elsewhere.
void Mark(Zeros& data, size_t count, int value) {
  for (const size_t place : Places(count)) data.data()[place] = static_cast<uint8_t>(value);
}

/// `part`: `size` elements of those that are marked, from `begin` on.
void ExpectMarks(const void* part, size_t begin, size_t size, size_t count, int value) {
  const auto* bytes = static_cast<const uint8_t*>(part);
  size_t marked = 0;
  for (const size_t place : Places(count)) {
    if (place < begin || place >= begin + size) continue;
    EXPECT_EQ(bytes[place - begin], value) << place;
    ++marked;
  }
  EXPECT_GT(marked, 0U);
  EXPECT_EQ(static_cast<size_t>(std::count(bytes, bytes + size, 0)), size - marked);
}

Request BytesOf(const std::string& name, size_t count) {
  return {.name = name, .kind = {.type = DataType::kUint8}, .shape = {static_cast<int64_t>(count)}};
}

class LargeTensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const size_t available = AvailableMemory();
    if (available < kNeeded) {
      GTEST_SKIP() << "these tensors need " << (kNeeded >> 20) << " MiB of memory, of which "
                   << (available >> 20) << " are available";
    }
  }
};

TEST_F(LargeTensorsTest, AllReduce) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    Zeros in(kCount);
    Zeros out(kCount);
    Mark(in, kCount, rank + 1);
    Promise done;
    ASSERT_TRUE(
        engine.AllReduce(BytesOf("a", kCount), in.data(), out.data(), done.Callback()).ok());
    const Status status = done.Get();
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectMarks(out.data(), 0, kCount, kCount, 3);
    MeetAgain(engine);
  });
}

TEST_F(LargeTensorsTest, AllGather) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    Zeros in(kHalf);
    Mark(in, kHalf, rank + 1);
    Promise done;
    ASSERT_TRUE(engine.AllGather(BytesOf("g", kHalf), in.data(), done.OutputCallback()).ok());
    const auto [status, output] = done.GetAll();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(output.shape, ElementsAre(2 * kHalf));
    ExpectMarks(output.data.get(), 0, kHalf, kHalf, 1);
    ExpectMarks(output.data.get() + kHalf, 0, kHalf, kHalf, 2);
    MeetAgain(engine);
  });
}

TEST_F(LargeTensorsTest, ReduceScatter) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    Zeros in(kCount);
    Mark(in, kCount, rank + 1);
    Promise done;
    ASSERT_TRUE(engine.ReduceScatter(BytesOf("s", kCount), in.data(), done.OutputCallback()).ok());
    const auto [status, output] = done.GetAll();
    ASSERT_TRUE(status.ok()) << status.message();
    const size_t first = (kCount + 1) / 2;
    EXPECT_THAT(output.shape, ElementsAre(rank == 0 ? first : kCount - first));
    ExpectMarks(output.data.get(), rank == 0 ? 0 : first, static_cast<size_t>(output.shape[0]),
                kCount, 3);
    MeetAgain(engine);
  });
}

TEST_F(LargeTensorsTest, Broadcast) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    Zeros data(kCount);
    if (rank == 1) Mark(data, kCount, 7);
    Request request = BytesOf("b", kCount);
    request.kind.root = 1;
    Promise done;
    ASSERT_TRUE(engine.Broadcast(request, data.data(), done.Callback()).ok());
    const Status status = done.Get();
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectMarks(data.data(), 0, kCount, kCount, 7);
    MeetAgain(engine);
  });
}

/// Nearly all goes from rank 0 to rank 1.
TEST_F(LargeTensorsTest, AllToAll) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    const size_t count = rank == 0 ? kCount : 2;
    Zeros in(count);
    Mark(in, count, rank + 1);
    Request request = BytesOf("x", count);
    request.splits = {1, static_cast<int64_t>(count) - 1};
    Promise done;
    ASSERT_TRUE(engine.AllToAll(request, in.data(), done.OutputCallback()).ok());
    const auto [status, output] = done.GetAll();
    ASSERT_TRUE(status.ok()) << status.message();
    const int64_t from_first = rank == 0 ? 1 : static_cast<int64_t>(kCount) - 1;
    EXPECT_THAT(output.splits, ElementsAre(from_first, 1));
    const auto sent = static_cast<size_t>(from_first);
    ExpectMarks(output.data.get(), rank == 0 ? 0 : 1, sent, kCount, 1);
    EXPECT_EQ(output.data[static_cast<std::ptrdiff_t>(sent)], std::byte{2});
    MeetAgain(engine);
  });
}

TEST_F(LargeTensorsTest, AllReduceThroughTcp) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    Zeros in(kCount);
    Zeros out(kCount);
    Mark(in, kCount, group.rank() + 1);
    const Status done = group.AllReduce(in.data(), out.data(), kCount, DataType::kUint8,
                                        ReduceOp::kSum, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    ExpectMarks(out.data(), 0, kCount, kCount, 3);
  });
}

TEST_F(LargeTensorsTest, BroadcastThroughTcp) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    Zeros data(kCount);
    if (group.rank() == 1) Mark(data, kCount, 7);
    const Status done = group.Broadcast(data.data(), kCount, 1, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    ExpectMarks(data.data(), 0, kCount, kCount, 7);
  });
}

TEST_F(LargeTensorsTest, AllGatherThroughTcp) {
  InMesh(2, [](const std::shared_ptr<NetMesh>& mesh) {
    NetGroup group = GroupOfAll(mesh);
    Zeros in(kHalf);
    Zeros out(2 * kHalf);
    Mark(in, kHalf, group.rank() + 1);
    const Status done = group.AllGather(in.data(), out.data(), {kHalf, kHalf}, After(kPatience));
    ASSERT_TRUE(done.ok()) << done.message();
    ExpectMarks(out.data(), 0, kHalf, kHalf, 1);
    ExpectMarks(out.data() + kHalf, 0, kHalf, kHalf, 2);
  });
}

}  // namespace
}  // namespace tony::collective
