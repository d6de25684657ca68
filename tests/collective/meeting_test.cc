// Ranks that find each other through a store.
#include "collective/meeting.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "tests/collective/memory_store.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kMoment = std::chrono::milliseconds(50);
constexpr char kSecret[] = "the job's token";

using Met = Result<std::unique_ptr<Members>>;

std::future<Met> Come(SharedKeys& keys, int rank, int ranks, const std::string& secret = kSecret,
                      Deadline deadline = After(kPatience)) {
  return std::async(std::launch::async, [&keys, rank, ranks, secret, deadline] {
    MemoryStore store(keys);
    return Meet(store, {.rank = rank, .ranks = ranks, .secret = secret}, deadline);
  });
}

TEST(MeetingTest, AllRanksOfAHostMeet) {
  for (const int ranks : {1, 2, 5}) {
    SharedKeys keys;
    std::vector<std::future<Met>> coming;
    // The last one comes first.
    for (int rank = ranks - 1; rank >= 0; --rank) coming.push_back(Come(keys, rank, ranks));
    std::vector<std::future<Status>> together;
    for (auto& one : coming) {
      together.push_back(std::async(std::launch::async, [&one, ranks] {
        Met met = one.get();
        if (!met.ok()) return met.status();
        EXPECT_EQ((*met)->group().ranks(), ranks);
        return (*met)->group().Barrier(After(kPatience));
      }));
    }
    for (auto& one : together) {
      const Status status = one.get();
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
}

TEST(MeetingTest, WhoIsMissingIsNamed) {
  SharedKeys keys;
  const Met first = Come(keys, 0, 2, kSecret, After(kMoment)).get();
  EXPECT_EQ(first.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(first.status().message(), "rank 1 has not come");

  SharedKeys others;
  const Met second = Come(others, 1, 2, kSecret, After(kMoment)).get();
  EXPECT_EQ(second.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(second.status().message(), "rank 0 has not come");
}

TEST(MeetingTest, BothAreToldOfAnotherHost) {
  SharedKeys keys;
  keys.Put("host/2", "elsewhere");
  auto first = Come(keys, 0, 3);
  auto second = Come(keys, 1, 3);
  for (auto* one : {&first, &second}) {
    const Met met = one->get();
    EXPECT_EQ(met.status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(met.status().message(), "rank 2 is on another host than rank 0");
  }
}

TEST(MeetingTest, AnotherSecretIsRefused) {
  SharedKeys keys;
  auto first = Come(keys, 0, 2, kSecret, After(std::chrono::seconds(2)));
  const Met second = Come(keys, 1, 2, "a guess").get();
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(first.get().status().code(), Code::kDeadlineExceeded);
}

TEST(MeetingTest, ARankHasToBeOneOfThem) {
  SharedKeys keys;
  for (const int rank : {-1, 2, 3}) {
    EXPECT_EQ(Come(keys, rank, 2).get().status().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(Come(keys, 0, 2, std::string(65, 'x')).get().status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tony::collective
