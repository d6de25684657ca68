#include "collective/ticket.h"

#include <utility>

namespace tony::collective {

void Ticket::Finish(const Status& status, Engine::Output output, int last_joined) {
  {
    const std::lock_guard lock(mutex_);
    status_ = status;
    output_ = std::move(output);
    last_joined_ = last_joined;
    done_ = true;
  }
  changed_.notify_all();
}

bool Ticket::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

bool Ticket::Wait(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return done_; });
}

}  // namespace tony::collective
