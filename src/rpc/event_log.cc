// Appending to the log and waking its followers.
#include "rpc/event_log.h"

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

std::shared_ptr<const v1::JobEvent> EventLog::GetLocked(int64_t sequence) const {
  const size_t position = static_cast<size_t>(sequence) - 1;
  return sequence >= 1 && position < events_.size() ? events_[position] : nullptr;
}

}  // namespace tony::rpc
