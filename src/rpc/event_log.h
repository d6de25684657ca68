// The job's events in memory, for everybody who follows the job.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tony/v1/job_event.pb.h"

namespace tony::rpc {

/// Append-only. Thread safe. One mutex guards the log and the positions of its followers.
class EventLog {
 public:
  /// Somebody who reads the log at an own pace.
  class Follower {
   public:
    virtual ~Follower() = default;
    /// There is something to read, or the log was closed. Called with the log's mutex held.
    virtual void OnChangeLocked() = 0;
  };

  /// Events come with rising sequence numbers, from 1 on; some may be missing.
  void Append(v1::JobEvent event);
  /// No event will follow.
  void Close();

  std::mutex& mutex() { return mutex_; }
  /// The first event whose number is `sequence` or more; null when it has not happened yet. The
  /// mutex must be held.
  std::shared_ptr<const v1::JobEvent> NextLocked(int64_t sequence) const;
  bool closed_locked() const { return closed_; }
  void AddLocked(Follower* follower) { followers_.insert(follower); }
  void RemoveLocked(Follower* follower) { followers_.erase(follower); }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const v1::JobEvent>> events_;
  std::set<Follower*> followers_;
  bool closed_ = false;
};

}  // namespace tony::rpc
