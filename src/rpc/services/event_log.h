// Keeps the job's events and each task's newest measurement in memory, for everyone who follows the
// job.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tony/v1/job_event.pb.h"

namespace tony::rpc {

/// Append-only except for measurements, of which each task has at most one. Thread safe. One mutex
/// guards the log and the positions of its followers.
class EventLog {
 public:
  /// A reader that reads the log at its own pace. Called by any thread, one at a time: the one that
  /// holds the log's mutex.
  class Follower {
   public:
    virtual ~Follower() = default;
    /// Called when there is something to read, or when the log was closed. The log's mutex is held.
    virtual void OnChangeLocked() = 0;
  };

  /// A measurement and its position in the sequence of all shown measurements.
  struct Measurement {
    int64_t position = 0;  ///< from 1; positions of replaced measurements are missing
    std::shared_ptr<const v1::JobEvent> event;
  };

  /// Appends an event. Sequence numbers must rise, from 1 on; some may be missing. An event
  /// `task_measured` also removes the measurement that was shown for that task, whose run is over.
  void Append(v1::JobEvent event);
  /// Shows `measured`, an event `task_measured` without a sequence number, in place of the task's
  /// last measurement.
  void ShowMeasurement(v1::JobEvent measured);
  /// Shows several, of which followers hear at once.
  void ShowMeasurements(std::vector<v1::JobEvent> measured);
  /// Closes the log: no event will follow.
  void Close();

  /// Announces that the events up to `last_sequence` have happened before and that AddPast() will
  /// bring them; until then a reader that needs one of them waits. Call it before the first event.
  void AwaitPast(int64_t last_sequence);
  /// Adds the awaited events, by rising numbers; some may be missing.
  void AddPast(std::vector<v1::JobEvent> events);

  std::mutex& mutex() { return mutex_; }
  /// The first event whose number is at least `sequence`; null if it has not happened yet or is
  /// awaited. This function and the ones below require the mutex.
  std::shared_ptr<const v1::JobEvent> NextLocked(int64_t sequence) const;
  /// Whether AddPast() is still to bring the event with this number.
  bool AwaitsLocked(int64_t sequence) const { return awaited_ != 0 && sequence <= awaited_; }
  /// The first measurement behind `position`; nullopt: there is none.
  std::optional<Measurement> NextMeasurementLocked(int64_t position) const;
  bool closed_locked() const { return closed_; }
  void AddLocked(Follower* follower) { followers_.insert(follower); }
  void RemoveLocked(Follower* follower) { followers_.erase(follower); }

 private:
  using Task = std::pair<std::string, int>;  ///< type and index

  void ShowMeasurementLocked(v1::JobEvent measured);
  void ForgetMeasurementLocked(const Task& task);
  void TellLocked();

  std::mutex mutex_;
  std::vector<std::shared_ptr<const v1::JobEvent>> events_;
  std::map<Task, int64_t> position_of_;  ///< position of each task's measurement
  std::map<int64_t, std::shared_ptr<const v1::JobEvent>> measurements_;  ///< by position
  int64_t last_position_ = 0;
  int64_t awaited_ = 0;  ///< number of the last awaited event; 0: none
  std::set<Follower*> followers_;
  bool closed_ = false;
};

}  // namespace tony::rpc
