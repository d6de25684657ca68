// Appending to the log and waking its followers.
#include "rpc/event_log.h"

#include <algorithm>

namespace tony::rpc {

void EventLog::Append(v1::JobEvent event) {
  std::lock_guard lock(mutex_);
  events_.push_back(std::make_shared<const v1::JobEvent>(std::move(event)));
  for (Follower* follower : followers_) follower->OnChangeLocked();
}

void EventLog::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  for (Follower* follower : followers_) follower->OnChangeLocked();
}

std::shared_ptr<const v1::JobEvent> EventLog::NextLocked(int64_t sequence) const {
  const auto next = std::lower_bound(
      events_.begin(), events_.end(), sequence,
      [](const auto& event, int64_t number) { return event->sequence() < number; });
  return next == events_.end() ? nullptr : *next;
}

}  // namespace tony::rpc
