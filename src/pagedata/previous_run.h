// Finds the last successful run of a job among the folders of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/worker.h"
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

/// Does the same on a thread. Not thread safe: owned by the event loop.
class PreviousRuns {
 public:
  /// `loop` must outlive this object.
  PreviousRuns(EventLoop& loop, RunWish wish) : wish_(std::move(wish)), worker_(loop) {}

  /// See web::JobSource::FindPrevious().
  void Find(web::JobSource::TakePrevious take);

 private:
  const RunWish wish_;
  Worker worker_;
};

}  // namespace tony::pagedata
