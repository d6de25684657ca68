// Runs an event loop on the test's own thread until something has happened.
#pragma once

#include <chrono>

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
  void Changed() { loop_.Stop(); }

  /// Runs the loop until the condition holds; false when patience ends.
  template <typename Condition>
  bool Await(Condition condition) {
    bool late = false;
    const auto deadline = loop_.After(kPatience, [&] {
      late = true;
      loop_.Stop();
    });
    while (!condition() && !late) loop_.Run();
    return condition();
  }

 private:
  EventLoop loop_;
};

}  // namespace tony
