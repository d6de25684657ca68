// The portal's index of all jobs: a cache in SQLite, which can be made anew from the jobs' folders.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "portal/index/database.h"
#include "portal/index/job_wish.h"

namespace tony::portal {

/// What the index knows of a job's files. Plain data.
struct KnownJob {
  FileMark mark;
  bool alive = false;
};
using JobKey = std::pair<std::string, std::string>;  ///< location, job

/// How many jobs have each value of a column, most frequent first. Plain data.
struct JobCounts {
  using Values = std::vector<std::pair<std::string, int64_t>>;
  Values states, users, queues, frameworks;
  int64_t jobs = 0;
  int64_t alive = 0;
};

/// One file, `index.db` in a folder of its own, with the format's version in `user_version`:
///
///   no file, another version, damaged ──▶ index.db.new is filled ──Publish()──▶ index.db
///
/// Both are readable from the first job on. A killed process leaves index.db as of its last
/// transaction. Thread safe: one writer at a time, beside one reader at a time. The codes of all
/// functions are those of database.h.
class JobIndex {
 public:
  /// Raised whenever the table changes: the index is made anew then.
  static constexpr int kFormat = 1;

  /// Opens the index in `folder`, which exists.
  static absl::StatusOr<std::unique_ptr<JobIndex>> Open(const std::string& folder);

  /// Whether all jobs that were there at the start are in it.
  bool complete() const { return complete_; }
  /// Whether it cannot be used until StartAnew() has succeeded: a reader or the writer has found
  /// damage, or the file could not be opened again. Thread safe.
  bool broken();
  /// Begins an empty index beside the damaged one. After an error it is broken(), and this may be
  /// called again.
  absl::Status StartAnew();
  /// Makes the new index the one that the next process opens. Does nothing if it is that already.
  absl::Status Publish();

  absl::StatusOr<std::map<JobKey, KnownJob>> KnownJobs();
  /// Adds or replaces jobs, in one transaction.
  absl::Status Put(const std::vector<ReadJob>& jobs);
  absl::Status Remove(const std::vector<JobKey>& jobs);

  /// InvalidArgument – the cursor is none, or is of another order.
  absl::StatusOr<JobPage> List(const JobWish& wish);
  /// Nothing: there is no such job.
  absl::StatusOr<std::optional<IndexedJob>> Find(const std::string& location,
                                                 const std::string& job_id);
  absl::StatusOr<JobCounts> Count();

 private:
  explicit JobIndex(std::string folder) : folder_(std::move(folder)) {}

  std::string FinalPath() const { return folder_ + "/index.db"; }
  std::string NewPath() const { return folder_ + "/index.db.new"; }
  /// Opens `path` for both, the table made if it is missing.
  absl::Status OpenBoth(const std::string& path);
  absl::Status OpenReader(const std::string& path);
  absl::Status CheckFormat();
  absl::Status FillAnew();
  /// Takes note of damage.
  template <typename Result>
  Result Noted(Result result);

  const std::string folder_;
  std::atomic<bool> complete_ = false;
  std::atomic<bool> damaged_ = false;
  std::mutex writer_mutex_;  ///< taken before reader_mutex_
  std::optional<Database> writer_;
  std::mutex reader_mutex_;
  std::optional<Database> reader_;
};

template <typename Result>
Result JobIndex::Noted(Result result) {
  absl::Status status;
  if constexpr (std::is_same_v<Result, absl::Status>) {
    status = result;
  } else {
    status = result.status();
  }
  if (absl::IsDataLoss(status)) damaged_ = true;
  return result;
}

}  // namespace tony::portal
