// What the tasks of a job use and how far they are, a row for each: `tony top JOB`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/screen.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// Why a task is sorted before others, the worst first.
enum class TopTrouble {
  kFailed,
  kHangs,       ///< no step for a minute, and for three times as long as usual
  kFullMemory,  ///< it uses nine tenths of the memory that it has asked for
  kNotRunning,  ///< it has not been started
  kNone,
  kOver,  ///< it has ended well, or was stopped
};

/// One task. Plain data; -1: unknown.
struct TopTask {
  const core::JobView::Task* task = nullptr;
  TopTrouble trouble = TopTrouble::kNone;
  double cores = -1;  ///< processor time per time
  int64_t asked_memory_bytes = -1;
  std::optional<double> loss;  ///< the value of this name
};

/// Computes and renders the rows. Keeps the measurement before the newest one of each task, for the
/// cores that it uses now; of a job that is looked at once, they are the mean since its start. Not
/// thread safe.
class TopTable {
 public:
  /// The job's tasks, those in trouble first, otherwise in the job's order. The result points into
  /// `job`.
  std::vector<TopTask> Look(const core::ObservedJob& job, int64_t now_millis);

 private:
  /// Processor time at a time of the program's.
  struct Point {
    double seconds = 0;
    double cpu_seconds = 0;
  };
  struct Seen {
    int attempt = 0;
    Point newest;
    double cores = -1;
  };

  double CoresOf(const core::JobView::Task& task, double running_seconds);

  std::map<core::TaskId, Seen> seen_;
};

/// The job's headline and a row for each task, as many as fit the screen; the last line then says
/// how many are left out.
std::string RenderTop(const core::ObservedJob& job, const std::vector<TopTask>& tasks,
                      int64_t now_millis, const Screen& screen);

}  // namespace tony::client
