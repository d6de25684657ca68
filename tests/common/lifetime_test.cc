// Lifetimes: a guarded function runs while its owner lives, on the loop, and never after that.
#include "common/lifetime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/on_loop.h"
#include "tests/common/loop_driver.h"

namespace tony {
namespace {

using ::testing::ElementsAre;

TEST(LifetimeTest, AGuardedFunctionGetsItsArgumentsWhileTheOwnerLives) {
  const Lifetime lifetime;
  std::string taken;
  const auto guarded = lifetime.Guard([&](const std::string& text, std::unique_ptr<int> number) {
    taken += text + std::to_string(*number);
  });
  guarded("a", std::make_unique<int>(1));
  guarded("b", std::make_unique<int>(2));
  EXPECT_EQ(taken, "a1b2");
}

TEST(LifetimeTest, AGuardedFunctionDoesNothingAfterTheOwner) {
  std::optional<Lifetime> lifetime(std::in_place);
  int calls = 0;
  const auto guarded = lifetime->Guard([&] { ++calls; });
  const std::function<void()> copy = guarded;
  lifetime.reset();
  guarded();
  copy();
  EXPECT_EQ(calls, 0);
}

TEST(LifetimeTest, ANewOwnerInTheSamePlaceDoesNotWakeFunctionsOfTheOldOne) {
  std::optional<Lifetime> lifetime(std::in_place);
  std::vector<int> calls;
  const auto old = lifetime->Guard([&] { calls.push_back(1); });
  lifetime.emplace();
  const auto current = lifetime->Guard([&] { calls.push_back(2); });
  old();
  current();
  EXPECT_THAT(calls, ElementsAre(2));
}

TEST(LifetimeTest, AnEarlyEndCountsForOldAndNewGuards) {
  Lifetime lifetime;
  int calls = 0;
  const auto before = lifetime.Guard([&] { ++calls; });
  before();
  lifetime.End();
  lifetime.End();
  before();
  lifetime.Guard([&] { ++calls; })();
  EXPECT_EQ(calls, 1);
}

TEST(LifetimeTest, AFunctionMayDestroyTheOwnerAndGoOn) {
  auto lifetime = std::make_unique<Lifetime>();
  std::string seen;
  const auto guarded = lifetime->Guard([&, text = std::string("a text that is on the heap")] {
    lifetime.reset();
    seen += text;
  });
  guarded();
  guarded();
  EXPECT_EQ(seen, "a text that is on the heap");
}

TEST(LifetimeTest, CapturesLiveAsLongAsTheGuardedFunction) {
  std::optional<Lifetime> lifetime(std::in_place);
  const auto captured = std::make_shared<int>(0);
  std::function<void()> guarded = lifetime->Guard([captured] {});
  lifetime.reset();
  EXPECT_EQ(captured.use_count(), 2);
  guarded = nullptr;
  EXPECT_EQ(captured.use_count(), 1);
}

TEST(LifetimeTest, AnObserverOutlivesTheLifetime) {
  std::optional<Lifetime> lifetime(std::in_place);
  const Lifetime::Observer observer = lifetime->Observe();
  EXPECT_FALSE(observer.ended());
  lifetime.reset();
  EXPECT_TRUE(observer.ended());
}

class LifetimeOnLoopTest : public ::testing::Test {
 protected:
  // Runs all functions posted so far.
  void RunWhatIsPosted() {
    bool reached = false;
    driver_.loop().Post([&] { reached = true; });
    driver_.Changed();
    ASSERT_TRUE(driver_.Await([&] { return reached; }));
  }

  LoopDriver driver_;
  EventLoop& loop_ = driver_.loop();
};

TEST_F(LifetimeOnLoopTest, AnOwnerThatEndsBeforeItsTurnIsNotCalled) {
  std::optional<Lifetime> lifetime(std::in_place);
  std::vector<int> calls;
  loop_.Post(lifetime->Guard([&] { calls.push_back(1); }));
  loop_.Post(lifetime->Guard([&] {
    calls.push_back(2);
    lifetime.reset();
  }));
  loop_.Post(lifetime->Guard([&] { calls.push_back(3); }));
  RunWhatIsPosted();
  EXPECT_THAT(calls, ElementsAre(1, 2));
}

// Counts what other threads tell it, as the ends of tunnels do.
class Counter {
 public:
  explicit Counter(EventLoop& loop)
      : on_text_(OnLoop(loop, lifetime_, this, &Counter::OnText)),
        on_event_(OnLoop(loop, lifetime_, this, &Counter::OnEvent)) {}

  std::function<void(std::string)> on_text() const { return on_text_; }
  std::function<void()> on_event() const { return on_event_; }
  const Lifetime& lifetime() const { return lifetime_; }
  const std::string& text() const { return text_; }
  int events() const { return events_; }

 private:
  void OnText(std::string text) { text_ += text; }
  void OnEvent() { ++events_; }

  std::string text_;
  int events_ = 0;
  Lifetime lifetime_;
  std::function<void(std::string)> on_text_;
  std::function<void()> on_event_;
};

TEST_F(LifetimeOnLoopTest, CallsOfAnotherThreadComeOnTheLoopInOrder) {
  Counter counter(loop_);
  std::thread([&] {
    counter.on_text()("a");
    counter.on_text()("b");
    counter.on_event()();
  }).join();
  EXPECT_EQ(counter.text(), "");  // only the loop calls
  RunWhatIsPosted();
  EXPECT_EQ(counter.text(), "ab");
  EXPECT_EQ(counter.events(), 1);
}

TEST_F(LifetimeOnLoopTest, CallsOfAnotherThreadAreDroppedAfterTheOwner) {
  auto counter = std::make_unique<Counter>(loop_);
  const auto on_text = counter->on_text();
  std::thread([&] { on_text("posted while the owner lives"); }).join();
  counter.reset();
  std::thread([&] { on_text("posted after that"); }).join();
  RunWhatIsPosted();
}

// Run under the thread sanitizer this shows that guards may be made on another thread while the
// loop calls others.
TEST_F(LifetimeOnLoopTest, AnotherThreadMayMakeGuardsWhileTheLoopCallsThem) {
  constexpr int kCalls = 2000;
  Counter counter(loop_);
  int calls = 0;
  std::thread other([&] {
    for (int i = 0; i < kCalls; ++i) {
      loop_.Post(counter.lifetime().Guard([&] {
        if (++calls == kCalls) driver_.Changed();
      }));
    }
  });
  EXPECT_TRUE(driver_.Await([&] { return calls == kCalls; }));
  other.join();
}

}  // namespace
}  // namespace tony
