// A watchdog for tony's own driver: notices that it hangs.
#pragma once

#include <functional>
#include <memory>

#include "common/event_loop.h"

namespace tony::executor {

/// The driver beats (core::kBeatFileName) every five seconds, from the event loop that also answers
/// the ranks. The watch counts looks, not time: if the machine was suspended (executor and driver
/// alike), that adds one look, not as many as would have fit into the time.
/// 1. Nothing is counted before the first beat: until then driver.start-timeout-ms applies.
/// 2. A look restarts the count if the program is suspended because the executor's lease has run
///    out.
/// 3. After `looks` looks in a row without a beat between them, the driver does not answer. That is
///    reported once.
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
  void CheckLater();
  void Check();

  EventLoop& loop_;
  const Pace pace_;
  const std::function<bool()> is_suspended_;
  const std::function<void()> on_silent_;
  int silent_checks_ = 0;
  std::unique_ptr<EventLoop::Handle> check_;  ///< null before the first beat, and after the report
  bool begun_ = false;
};

}  // namespace tony::executor
