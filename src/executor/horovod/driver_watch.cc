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
  silent_looks_ = 0;
  if (!std::exchange(begun_, true)) LookLater();
}

void DriverWatch::LookLater() {
  look_ = loop_.After(pace_.interval, [this] { Look(); });
}

void DriverWatch::Look() {
  // The first look after a beat proves nothing, since the beat may have come just before it. So
  // one look more than `looks` is needed.
  silent_looks_ = is_suspended_() ? 0 : silent_looks_ + 1;
  if (silent_looks_ > 1) LogDebug("tony-driver is silent", {{"looks", silent_looks_}});
  if (silent_looks_ <= pace_.looks) return LookLater();
  on_silent_();
}

}  // namespace tony::executor
