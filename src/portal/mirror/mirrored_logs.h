// The copies of the logs of a cluster's jobs that are over.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "storage/job_folder.h"

namespace tony::portal {

/// Tells what this machine has of a job's logs. Plain data.
struct LogsHere {
  bool copied = false;
  std::string missing;  ///< what is not among them, as a sentence; empty: nothing is missing
  std::string
      listing;  ///< of what they were copied (yarnlogs::ListCollectedLogs); empty: not known
};

/// The logs of the jobs of one location of copies (JobMirror):
///
///   jobs/ID/logs/            laid out as a local job's
///   jobs/ID/logs/copied.json what is not among them
///   new-logs/, old-logs/     what is being copied, until it is moved, and what is being removed
///
/// The copies take Limits::bytes: those of the jobs that were looked at longest ago go first.
/// Blocks. Of one location, one call follows the other; otherwise thread safe.
class MirroredLogs {
 public:
  /// Logs that were looked at within this time stay.
  static constexpr std::chrono::minutes kInUse{10};

  /// How much is copied. Plain data.
  struct Limits {
    int64_t bytes = int64_t{4} << 30;
    /// A larger job's logs are copied as far as they fit.
    int64_t job_bytes = int64_t{2} << 30;
  };

  /// `location`: the folder that holds `jobs`. `clock` must outlive this.
  MirroredLogs(std::string location, const Clock& clock, Limits limits)
      : location_(std::move(location)), clock_(clock), limits_(limits) {}
  MirroredLogs(std::string location, const Clock& clock)
      : MirroredLogs(std::move(location), clock, Limits{}) {}

  /// Whether an earlier process has left something half copied or half removed.
  bool HasRests() const;
  /// Removes it.
  void RemoveRests() const;

  /// Copies what YARN has collected of the logs of the job `id`, whose records were copied; nothing
  /// is read if nothing is missing here, or YARN has collected no more since. A copy that lacks
  /// something replaces no larger one. NotFound – the job is not over, or YARN has collected
  /// nothing (yet). ResourceExhausted – the copies of other jobs' logs, which are looked at, leave
  /// no room. Cancelled – `stop` was requested. Otherwise the codes of
  /// yarnlogs::ListCollectedLogs(), and errno codes of this machine's disk.
  absl::Status Copy(const backend::YarnCluster& cluster, const std::string& id,
                    const std::stop_token& stop = {}) const;

 private:
  storage::JobFolder NewCopy() const { return storage::JobFolder(location_ + "/new-logs"); }
  storage::JobFolder OldCopy() const { return storage::JobFolder(location_ + "/old-logs"); }
  /// The copies of the logs of one job. Plain data.
  struct Copied {
    int64_t used_millis = 0;
    int64_t bytes = 0;
    storage::JobFolder folder;
  };
  /// Returns the copies of all jobs but `id`, the one that was looked at longest ago first.
  std::vector<Copied> Others(const std::string& id) const;
  bool IsInUse(const Copied& logs) const;
  /// How much may be copied for the job `id`. ResourceExhausted – nothing.
  absl::StatusOr<int64_t> RoomFor(const std::string& id) const;
  /// Removes logs of other jobs, until there is room for `bytes` of the job `id`.
  absl::Status MakeRoom(const std::string& id, int64_t bytes) const;
  /// Makes the new copy the one in `folder`.
  absl::Status MoveTo(const storage::JobFolder& folder) const;
  /// Takes the logs out of `folder`, to be removed with RemoveRests().
  absl::Status PutAside(const storage::JobFolder& folder) const;

  const std::string location_;
  const Clock& clock_;
  const Limits limits_;
};

/// Looks for the logs of a job in a folder of copies.
LogsHere FindMirroredLogs(const storage::JobFolder& folder);

/// Notes that the logs are looked at now.
void NoteUseOfLogs(const storage::JobFolder& folder, const Clock& clock);

}  // namespace tony::portal
