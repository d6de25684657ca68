// A watchdog: a counter that each beat resets and each look increments.
#include "executor/horovod/driver_watch.h"

#include <utility>

#include "common/logging.h"

namespace tony::executor {

DriverWatch::DriverWatch(EventLoop& loop, Pace pace, std::function<bool()> is_suspended,
                         std::function<void()> on_silent)
    : loop_(loop),
      pace_(pace),
      is_suspended_(std::move(is_suspended)),
      on_silent_(std::move(on_silent)) {}

void DriverWatch::OnBeat() {
  silent_checks_ = 0;
  if (!std::exchange(begun_, true)) CheckLater();
}

void DriverWatch::CheckLater() {
  check_ = loop_.After(pace_.interval, [this] { Check(); });
}

void DriverWatch::Check() {
  // The first look after a beat proves nothing, since the beat may have come just before it. So
  // one look more than `looks` is needed.
  silent_checks_ = is_suspended_() ? 0 : silent_checks_ + 1;
  if (silent_checks_ > 1) LogDebug("tony-driver is silent", {{"looks", silent_checks_}});
  if (silent_checks_ <= pace_.looks) return CheckLater();
  on_silent_();
}

}  // namespace tony::executor
