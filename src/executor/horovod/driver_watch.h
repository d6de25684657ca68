// Notices that tony's own driver hangs.
#pragma once

#include <functional>
#include <memory>

#include "common/event_loop.h"

namespace tony::executor {

/// The driver beats (core::kBeatFileName) every five seconds from its event loop, the one that also
/// answers the ranks. Looks are counted, not time: of a machine that was suspended, executor and
/// driver alike, there is one look more, not as many as there would have been.
/// 1. Nothing is counted before the first beat: until then there is driver.start-timeout-ms.
/// 2. A look at which the program is suspended, since the executor's lease has run out, begins the
///    count anew.
/// 3. After `looks` in a row with no beat in between it does not answer. Told once.
/// Not thread safe: owned by the event loop.
class DriverWatch {
 public:
  struct Pace {
    Duration interval = std::chrono::seconds(10);
    int looks = 6;
  };

  DriverWatch(EventLoop& loop, Pace pace, std::function<bool()> is_suspended,
              std::function<void()> on_silent);

  void OnBeat();

 private:
  void LookLater();
  void Look();

  EventLoop& loop_;
  const Pace pace_;
  const std::function<bool()> is_suspended_;
  const std::function<void()> on_silent_;
  int silent_looks_ = 0;
  std::unique_ptr<EventLoop::Handle> look_;  ///< null before the first beat, and when it was told
  bool begun_ = false;
};

}  // namespace tony::executor
