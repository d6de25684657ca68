// Finds the last successful run of a job among the folders of jobs, here or in a storage.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "storage/job_files.h"
#include "web/api/job_source.h"

namespace tony::pagedata {

/// What is looked for.
struct RunWish {
  std::string jobs_folder;    ///< has a folder for each job
  std::string job_id;         ///< the run that asks
  std::string name;           ///< of the job; an empty one has no other runs
  int64_t before_millis = 0;  ///< only runs that were submitted before; 0: any
};

/// Returns the run of the name that ended last and was successful, by the summaries in the folders;
/// nothing if there is none. Looks at the newest few thousand summaries. Ends with nothing when
/// `stop` returns true. Thread safe.
std::optional<web::PreviousRun> FindPreviousRun(const RunWish& wish,
                                                const std::function<bool()>& stop);

/// The same among the first kMostStoredRuns of `ids`, newest first, whose folders are in `jobs`: an
/// HDFS has to be asked for each file. RunWish::jobs_folder is a folder of this machine for a file,
/// which is gone when this returns. The run that was submitted last counts. Blocks.
std::optional<web::PreviousRun> FindStoredRun(const RunWish& wish, storage::JobFiles& jobs,
                                              const std::vector<std::string>& ids,
                                              const std::function<bool()>& stop);
inline constexpr size_t kMostStoredRuns = 200;

/// Does either on a thread, once for all who ask meanwhile. Not thread safe: owned by the event
/// loop.
class PreviousRuns {
 public:
  /// How long a result of Search is given out again.
  static constexpr std::chrono::minutes kKept{5};
  /// Called on the thread.
  using Search = std::function<std::optional<web::PreviousRun>(const std::function<bool()>& stop)>;

  /// FindPreviousRun(), anew for each who asks later. `loop` must outlive this object.
  PreviousRuns(EventLoop& loop, RunWish wish)
      : search_([wish = std::move(wish)](const std::function<bool()>& stop) {
          return FindPreviousRun(wish, stop);
        }),
        worker_(loop) {}
  /// A search that takes seconds: what it has found is kept for kKept. `loop` and `clock` must
  /// outlive this object.
  PreviousRuns(EventLoop& loop, const Clock& clock, Search search)
      : search_(std::move(search)), clock_(&clock), worker_(loop) {}

  /// See web::JobSource::FindPrevious().
  void Find(web::JobSource::TakePrevious take);

 private:
  using Result = absl::StatusOr<std::optional<web::PreviousRun>>;
  void OnFound(const Result& result);

  const Search search_;
  const Clock* const clock_ = nullptr;  ///< null: nothing is kept
  std::optional<Result> kept_;
  TimePoint kept_since_{};
  std::vector<web::JobSource::TakePrevious> waiting_;
  Worker worker_;
};

}  // namespace tony::pagedata
