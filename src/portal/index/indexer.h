// Keeps the index as new as the jobs' folders.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "portal/index/job_index.h"
#include "portal/index/job_reader.h"

namespace tony::portal {

/// How far the indexing is. Plain data.
struct IndexProgress {
  int64_t done = 0;       ///< jobs that were looked at in the first round
  int64_t total = 0;      ///< that were found; 0: not known yet
  bool complete = false;  ///< the first round is over
  std::string trouble;    ///< why the index is not as new as it should be; empty: it is
};

/// One round after the other:
///
///   1. A folder of jobs whose time of modification has changed is listed: jobs come and go.
///   2. Of a new job, of a living one and, every kSweepPause, of all jobs the marks of their files
///      are compared.
///   3. What has changed is read, and written in transactions of kBatch jobs.
///
/// Nothing is watched through the kernel: a watch for each living job would need as many, and what
/// happens on another machine's file system is not reported. Not thread safe, but for progress().
class Indexer {
 public:
  static constexpr size_t kBatch = 500;
  static constexpr std::chrono::minutes kSweepPause{5};

  /// `locations`: folders that hold `jobs`; `tony_histories`: those of TonY, which are looked at
  /// every kSweepPause. Both references must outlive this.
  Indexer(std::vector<std::string> locations, JobIndex& index, const Clock& clock,
          const std::vector<std::string>& tony_histories = {});

  /// Does one round, which ends early once `stop` is set. Returns whether anything has changed. The
  /// codes of JobIndex; a damaged index is begun anew by the next round.
  absl::StatusOr<bool> Round(const std::atomic<bool>& stop);
  /// Thread safe.
  IndexProgress progress() const;
  /// Says, until the next call for `location`, why it is not as new as it should be; empty: it is.
  /// Thread safe.
  void SetSourceTrouble(const std::string& location, const std::string& trouble);

 private:
  struct Location {
    std::string folder;
    int64_t listed_time = -1;  ///< time of modification of its jobs when they were listed
    std::set<std::string> listed;
    bool was_listed = false;  ///< else its jobs are those that the index has
    bool of_tony = false;     ///< the jobs are TonY's:
    std::map<std::string, ReadJob> histories = {};
  };

  /// Round() without the care for what is left when it fails.
  absl::StatusOr<bool> TryRound(const std::atomic<bool>& stop);
  absl::Status Begin();
  /// Lists the jobs of `location` if they may have changed.
  void List(Location& location, bool always);
  /// Does the same for a location of TonY's.
  void ListHistories(Location& location, bool always);
  /// The location of a job of TonY's that was listed; null: it is none.
  const ReadJob* FindHistory(const JobKey& key) const;
  /// Compares and reads the job; adds it to `batch` if it has changed.
  void Look(const JobKey& key, std::vector<ReadJob>& batch);
  absl::StatusOr<bool> ForgetRemoved();
  absl::Status Write(std::vector<ReadJob>& batch);
  void Say(const std::function<void(IndexProgress&)>& change);

  JobIndex& index_;
  const Clock& clock_;
  JobReader reader_;
  std::vector<Location> locations_;
  std::map<JobKey, KnownJob> known_;
  std::set<JobKey> living_;
  bool begun_ = false;
  TimePoint next_sweep_{};
  mutable std::mutex progress_mutex_;
  IndexProgress progress_;
  std::map<std::string, std::string> source_troubles_;  ///< by location; guarded as progress_ is
};

/// Runs an Indexer on a thread, a round each second. Not thread safe: owned by the event loop.
class IndexerThread {
 public:
  static constexpr std::chrono::seconds kPause{1};

  /// `indexer` must outlive this.
  explicit IndexerThread(Indexer& indexer);
  /// Ends the thread after the job that is being read.
  ~IndexerThread();
  IndexerThread(const IndexerThread&) = delete;
  IndexerThread& operator=(const IndexerThread&) = delete;

 private:
  void Run();

  Indexer& indexer_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::thread thread_;
};

}  // namespace tony::portal
