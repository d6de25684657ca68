// Events are sorted by number, so a reader's next event is found by binary search; each change
// wakes all followers under the log's mutex.
#include "rpc/services/event_log.h"

#include <algorithm>
#include <iterator>

namespace tony::rpc {

void EventLog::Append(v1::JobEvent event) {
  std::lock_guard lock(mutex_);
  if (event.has_task_measured()) {
    const v1::TaskId& task = event.task_measured().task();
    ForgetMeasurementLocked({task.type(), task.index()});
  }
  events_.push_back(std::make_shared<const v1::JobEvent>(std::move(event)));
  TellLocked();
}

void EventLog::ShowMeasurement(v1::JobEvent measured) {
  std::lock_guard lock(mutex_);
  ShowMeasurementLocked(std::move(measured));
  TellLocked();
}

void EventLog::ShowMeasurements(std::vector<v1::JobEvent> measured) {
  std::lock_guard lock(mutex_);
  for (v1::JobEvent& one : measured) ShowMeasurementLocked(std::move(one));
  TellLocked();
}

void EventLog::ShowMeasurementLocked(v1::JobEvent measured) {
  const Task task{measured.task_measured().task().type(), measured.task_measured().task().index()};
  ForgetMeasurementLocked(task);
  position_of_[task] = ++last_position_;
  measurements_.emplace(last_position_, std::make_shared<const v1::JobEvent>(std::move(measured)));
}

void EventLog::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  TellLocked();
}

void EventLog::AwaitPast(int64_t last_sequence) {
  std::lock_guard lock(mutex_);
  awaited_ = last_sequence;
}

void EventLog::AddPast(std::vector<v1::JobEvent> events) {
  std::vector<std::shared_ptr<const v1::JobEvent>> past;
  past.reserve(events.size());
  for (v1::JobEvent& event : events) {
    past.push_back(std::make_shared<const v1::JobEvent>(std::move(event)));
  }
  std::lock_guard lock(mutex_);
  events_.insert(events_.begin(), std::make_move_iterator(past.begin()),
                 std::make_move_iterator(past.end()));
  awaited_ = 0;
  TellLocked();
}

std::shared_ptr<const v1::JobEvent> EventLog::NextLocked(int64_t sequence) const {
  if (AwaitsLocked(sequence)) return nullptr;
  const auto next = std::lower_bound(
      events_.begin(), events_.end(), sequence,
      [](const auto& event, int64_t number) { return event->sequence() < number; });
  return next == events_.end() ? nullptr : *next;
}

std::optional<EventLog::Measurement> EventLog::NextMeasurementLocked(int64_t position) const {
  const auto next = measurements_.upper_bound(position);
  if (next == measurements_.end()) return std::nullopt;
  return Measurement{next->first, next->second};
}

void EventLog::ForgetMeasurementLocked(const Task& task) {
  const auto found = position_of_.find(task);
  if (found == position_of_.end()) return;
  measurements_.erase(found->second);
  position_of_.erase(found);
}

void EventLog::TellLocked() {
  for (Follower* follower : followers_) follower->OnChangeLocked();
}

}  // namespace tony::rpc
