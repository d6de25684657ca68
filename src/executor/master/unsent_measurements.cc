// A bounded queue, emptied by whatever is sent next.
#include "executor/master/unsent_measurements.h"

#include <utility>

#include "core/tasks/arrival_dates.h"
#include "rpc/convert/convert.h"

namespace tony::executor {

void UnsentMeasurements::Add(core::TaskUsage usage, TimePoint now) {
  if (waiting_.size() == kMost) waiting_.pop_front();
  waiting_.push_back({std::move(usage), now});
}

// Half a pause of tolerance: the timer of the measurements is not exact, and a measurement that
// comes a little early should not wait for the next one.
bool UnsentMeasurements::IsDue(TimePoint now) const {
  if (waiting_.empty() || pauses_.heartbeats <= pauses_.measurements) return false;
  return !sent_ || now - *sent_ >= pauses_.measurements / 2;
}

void UnsentMeasurements::MoveTo(v1::Heartbeat& heartbeat, TimePoint now) {
  if (waiting_.empty()) return;
  sent_ = now;
  for (auto& [usage, at] : waiting_) core::AgeProgress(now - at, usage);
  *heartbeat.mutable_usage() = rpc::ToProto(waiting_.back().usage);
  waiting_.pop_back();
  for (const auto& [usage, at] : waiting_) *heartbeat.add_earlier() = rpc::ToProto(usage);
  waiting_.clear();
}

std::optional<v1::ExecutorMessage> UnsentMeasurements::TakeMessage(TimePoint now) {
  if (waiting_.empty()) return std::nullopt;
  v1::ExecutorMessage message;
  MoveTo(*message.mutable_heartbeat(), now);
  return message;
}

}  // namespace tony::executor
