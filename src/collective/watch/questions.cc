// One slot with a condition variable: the question that waits is taken at most once.
#include "collective/watch/questions.h"

#include <utility>

namespace tony::collective {

int64_t Questions::Wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  attended_ = true;
  changed_.wait_until(lock, deadline, [this] { return closed_ || asked_ != kNone; });
  return closed_ ? kClosed : std::exchange(asked_, kNone);
}

bool Questions::Ask(int64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!attended_ || closed_) return false;
    asked_ = number;
  }
  changed_.notify_all();
  return true;
}

void Questions::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace tony::collective
