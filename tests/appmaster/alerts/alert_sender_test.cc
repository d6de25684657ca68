// The queue of one webhook, with receivers that the test makes answer.
#include "appmaster/alerts/alert_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kDeadline{20};

/// What the sender's thread and the test share. It outlives both.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> answers;  ///< codes of the next tries, then 200
  std::vector<std::string> sent;
  std::vector<std::string> troubles;
  int idle = 0;
  bool held = false;  ///< the receiver does not answer

  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kDeadline, condition);
  }
};

std::unique_ptr<AlertSender> MakeSender(const std::shared_ptr<Shared>& shared) {
  const auto post = [shared](const AlertMessage& message) {
    std::unique_lock lock(shared->mutex);
    shared->sent.push_back(message.id);
    shared->changed.notify_all();
    shared->changed.wait(lock, [&] { return !shared->held; });
    int code = 200;
    if (!shared->answers.empty()) {
      code = shared->answers.front();
      shared->answers.erase(shared->answers.begin());
    }
    return core::AlertAnswer{code, Duration(0), ""};
  };
  const AlertSender::Reports reports{[shared](const std::string& sentence) {
                                       std::lock_guard lock(shared->mutex);
                                       shared->troubles.push_back(sentence);
                                       shared->changed.notify_all();
                                     },
                                     [shared] {
                                       std::lock_guard lock(shared->mutex);
                                       ++shared->idle;
                                       shared->changed.notify_all();
                                     }};
  return std::make_unique<AlertSender>(
      "https://hooks", post, [] { return 0.0; }, reports);
}

TEST(AlertSender, KeepsTheOrderAlsoWhenATryFails) {
  const auto shared = std::make_shared<Shared>();
  shared->answers = {500};
  const auto sender = MakeSender(shared);
  sender->Push({"1", "start", "{}"});
  sender->Push({"2", "end", "{}"});
  ASSERT_TRUE(shared->Await([&] { return shared->idle > 0; }));
  EXPECT_THAT(shared->sent, ElementsAre("1", "1", "2"));
  EXPECT_TRUE(shared->troubles.empty());
  EXPECT_EQ(sender->pending(), 0u);
}

TEST(AlertSender, SaysWhatIsGivenUpWithoutTheAddress) {
  const auto shared = std::make_shared<Shared>();
  shared->answers = {404};
  const auto sender = MakeSender(shared);
  sender->Push({"1", "restart", "{}"});
  ASSERT_TRUE(shared->Await([&] { return shared->idle > 0; }));
  EXPECT_THAT(shared->troubles,
              ElementsAre("The alert \"restart\" did not reach https://hooks: it answers 404"));
}

TEST(AlertSender, DropsTheOldestOfTooMany) {
  const auto shared = std::make_shared<Shared>();
  shared->held = true;
  const auto sender = MakeSender(shared);
  sender->Push({"first", "start", "{}"});
  ASSERT_TRUE(shared->Await([&] { return !shared->sent.empty(); }));
  const int extra = 2;
  for (size_t number = 0; number < AlertSender::kMostQueued + extra; ++number) {
    sender->Push({std::to_string(number), "restart", "{}"});
  }
  EXPECT_EQ(sender->pending(), AlertSender::kMostQueued + 1);
  {
    std::lock_guard lock(shared->mutex);
    shared->held = false;
    shared->changed.notify_all();
  }
  ASSERT_TRUE(shared->Await([&] { return shared->idle > 0; }));
  EXPECT_EQ(shared->sent.size(), AlertSender::kMostQueued + 1);
  EXPECT_EQ(shared->sent[1], "2");
  EXPECT_THAT(shared->troubles, ElementsAre(HasSubstr("are dropped, the oldest first")));
}

TEST(AlertSender, ItsEndDoesNotWaitForAReceiver) {
  const auto shared = std::make_shared<Shared>();
  shared->held = true;
  auto sender = MakeSender(shared);
  sender->Push({"1", "start", "{}"});
  ASSERT_TRUE(shared->Await([&] { return !shared->sent.empty(); }));
  sender.reset();  // would hang here
  std::lock_guard lock(shared->mutex);
  shared->held = false;
  shared->changed.notify_all();
}

}  // namespace
}  // namespace tony::appmaster
