// The job's events in memory, and the newest measurement of each task, for everybody who follows
// the job.
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

/// Append-only, apart from measurements, of which there is one for each task at most. Thread safe.
/// One mutex guards the log and the positions of its followers.
class EventLog {
 public:
  /// Somebody who reads the log at an own pace.
  class Follower {
   public:
    virtual ~Follower() = default;
    /// There is something to read, or the log was closed. Called with the log's mutex held.
    virtual void OnChangeLocked() = 0;
  };

  /// A measurement, with its position among all that were shown.
  struct Measurement {
    int64_t position = 0;  ///< from 1; those that others took the place of are missing
    std::shared_ptr<const v1::JobEvent> event;
  };

  /// Events come with rising sequence numbers, from 1 on; some may be missing. The measurement of a
  /// run that is over takes the place of what was shown of that task.
  void Append(v1::JobEvent event);
  /// Of an event `task_measured` without number: it takes the place of the task's last one.
  void ShowMeasurement(v1::JobEvent measured);
  /// No event will follow.
  void Close();

  /// Events up to `last_sequence` have happened before, and AddPast() brings them later: until then
  /// whoever asks for one of them waits. Before the first event.
  void AwaitPast(int64_t last_sequence);
  /// The events that are awaited, by rising numbers; some may be missing.
  void AddPast(std::vector<v1::JobEvent> events);

  std::mutex& mutex() { return mutex_; }
  /// The first event whose number is `sequence` or more; null when it has not happened yet, or is
  /// awaited. The mutex must be held, also below.
  std::shared_ptr<const v1::JobEvent> NextLocked(int64_t sequence) const;
  /// Whether AddPast() is to bring the event of that number.
  bool AwaitsLocked(int64_t sequence) const { return awaited_ != 0 && sequence <= awaited_; }
  /// The oldest of those after `position` that no other took the place of.
  std::optional<Measurement> NextMeasurementLocked(int64_t position) const;
  bool closed_locked() const { return closed_; }
  void AddLocked(Follower* follower) { followers_.insert(follower); }
  void RemoveLocked(Follower* follower) { followers_.erase(follower); }

 private:
  using Task = std::pair<std::string, int>;  ///< type and index

  void ForgetMeasurementLocked(const Task& task);
  void TellLocked();

  std::mutex mutex_;
  std::vector<std::shared_ptr<const v1::JobEvent>> events_;
  std::map<Task, int64_t> position_of_;  ///< of each task's measurement
  std::map<int64_t, std::shared_ptr<const v1::JobEvent>> measurements_;  ///< by position
  int64_t last_position_ = 0;
  int64_t awaited_ = 0;  ///< the last event that is; 0: none
  std::set<Follower*> followers_;
  bool closed_ = false;
};

}  // namespace tony::rpc
