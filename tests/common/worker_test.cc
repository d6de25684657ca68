// Work on a thread whose results come to the loop, unless nobody wants them.
#include "common/worker.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/common/loop_driver.h"

namespace tony {
namespace {

class WorkerTest : public ::testing::Test {
 protected:
  void Run(Worker::Abandoned abandoned,
           std::function<absl::StatusOr<int>(const Worker::Stop&)> work) {
    worker_->Run<int>(std::move(abandoned), std::move(work), [this](absl::StatusOr<int> result) {
      results_.push_back(std::move(result));
      driver_.Changed();
    });
  }

  LoopDriver driver_;
  std::vector<absl::StatusOr<int>> results_;
  std::optional<Worker> worker_{std::in_place, driver_.loop()};
};

TEST_F(WorkerTest, ResultsComeInOrder) {
  for (int number = 0; number < 10; ++number)
    Run(nullptr, [number](const auto&) { return number; });
  ASSERT_TRUE(driver_.Await([&] { return results_.size() == 10; }));
  for (int number = 0; number < 10; ++number) EXPECT_EQ(*results_[number], number);
}

TEST_F(WorkerTest, WorkStopsWhenNobodyWaits) {
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> begun = false;
  Run(abandoned, [&](const Worker::Stop& stop) -> absl::StatusOr<int> {
    begun = true;
    while (!stop()) std::this_thread::yield();
    return absl::CancelledError("stopped");
  });
  Run(abandoned, [](const auto&) { return 1; });  // not even begun
  while (!begun) std::this_thread::yield();
  *abandoned = true;
  ASSERT_TRUE(driver_.Await([&] { return results_.size() == 2; }));
  EXPECT_TRUE(absl::IsCancelled(results_[0].status()));
  EXPECT_TRUE(absl::IsCancelled(results_[1].status()));
}

TEST_F(WorkerTest, TooMuchWorkIsRefusedAndTheEndWaitsForNothing) {
  Run(nullptr, [](const Worker::Stop& stop) -> absl::StatusOr<int> {
    while (!stop()) std::this_thread::yield();
    return 0;
  });
  for (size_t number = 0; number < 2 * Worker::kMostWaiting; ++number) {
    Run(nullptr, [](const auto&) { return 1; });
  }
  ASSERT_GE(results_.size(), Worker::kMostWaiting - 1);
  EXPECT_TRUE(absl::IsResourceExhausted(results_[0].status()));
  const size_t refused = results_.size();
  worker_.reset();
  EXPECT_EQ(results_.size(), refused);
}

}  // namespace
}  // namespace tony
