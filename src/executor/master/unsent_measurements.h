// The measurements that wait for the next message to the ApplicationMaster.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "common/clock.h"
#include "core/tasks/task_usage.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// A message costs the ApplicationMaster far more than what is in it, so measurements go along with
/// the next heartbeat. Only where heartbeats are rarer than measurements may be sent do they have
/// messages of their own. Not thread safe: owned by the event loop.
class UnsentMeasurements {
 public:
  /// More than these wait only while there is no ApplicationMaster: the oldest are dropped.
  static constexpr size_t kMost = 64;

  struct Pauses {
    Duration heartbeats{0};    ///< between two heartbeats
    Duration measurements{0};  ///< between two messages with measurements, at least
  };
  void set_pauses(const Pauses& pauses) { pauses_ = pauses; }

  /// A measurement of `now`.
  void Add(core::TaskUsage usage, TimePoint now);
  /// Drops all: they are those of a run that is over.
  void Clear() { waiting_.clear(); }
  /// Whether they should be sent now, and not with the next heartbeat.
  bool IsDue(TimePoint now) const;
  /// Moves all into a heartbeat that is sent `now`.
  void MoveTo(v1::Heartbeat& heartbeat, TimePoint now);
  /// A message with all of them, which is not answered and renews no lease; nullopt: none waits.
  std::optional<v1::ExecutorMessage> TakeMessage(TimePoint now);

 private:
  struct Measurement {
    core::TaskUsage usage;
    TimePoint at;
  };

  Pauses pauses_;
  std::deque<Measurement> waiting_;  ///< oldest first
  std::optional<TimePoint> sent_;    ///< when measurements were sent last
};

}  // namespace tony::executor
