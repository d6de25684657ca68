// Runs an event loop on the test's own thread until something has happened.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "common/event_loop.h"

namespace tony {

/// Long enough for a loaded machine; a test that works never waits that long.
inline constexpr std::chrono::seconds kPatience{30};

/// Callbacks that change what a test waits for call Changed(), which is thread safe; the rest
/// belongs to the test's thread.
class LoopDriver {
 public:
  EventLoop& loop() { return loop_; }

  /// Makes Await() look at its condition again.
  void Changed() {
    loop_.Post([this] {
      changed_ = true;
      loop_.Stop();
    });
  }

  /// Runs the loop until the condition holds; false when patience ends, also if the condition holds
  /// then: nobody has called Changed() when it began to.
  template <typename Condition>
  bool Await(Condition condition) {
    bool late = false;
    const auto deadline = StopWhenLate(late);
    bool met = condition();
    while (!met && !late) {
      loop_.Run();
      met = condition();
    }
    return met && !late;
  }

  /// Runs `work()` on a thread of its own while the loop runs, and returns its result; null when
  /// patience ends first.
  template <typename Work>
  auto AwaitThread(const Work& work) {
    std::optional<decltype(work())> answer;
    bool answered = false;  // the loop's
    std::thread worker([&] {
      answer = work();
      loop_.Post([&] { answered = true; });
      Changed();
    });
    const bool in_time = Await([&] { return answered; });
    worker.join();
    return in_time ? std::move(answer) : std::nullopt;
  }

  /// Runs the loop until what is tested stops it; false when patience ends.
  bool AwaitStop() {
    bool late = false;
    const auto deadline = StopWhenLate(late);
    do {
      changed_ = false;
      loop_.Run();
    } while (changed_);
    return !late;
  }

 private:
  std::unique_ptr<EventLoop::Handle> StopWhenLate(bool& late) {
    return loop_.After(kPatience, [this, &late] {
      late = true;
      loop_.Stop();
    });
  }

  EventLoop loop_;
  bool changed_ = false;
};

}  // namespace tony
