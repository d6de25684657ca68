// What heuristics look at: a job, its history and its metrics, with the questions that they ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics/job_metrics.h"
#include "core/model/task_id.h"
#include "core/record/job_event.h"
#include "core/record/observed_job.h"

namespace tony::core {

/// When there is enough to judge a job by.
struct AdviceGate {
  int64_t least_run_millis = 300'000;
  int least_samples = 30;  ///< of a task
};

/// A type of tasks with what each of them has asked for; nothing in histories of earlier versions.
using AskedType = JobSubmitted::Type;

/// The facts of one job, running or over. Refers to its parts, which must outlive it. Not thread
/// safe.
class JobFacts {
 public:
  JobFacts(const ObservedJob& observed, const JobMetrics& metrics, int64_t now_millis,
           AdviceGate gate = {})
      : observed(observed), metrics(metrics), gate(gate), now_millis_(now_millis) {}

  const ObservedJob& observed;
  const JobMetrics& metrics;
  const AdviceGate gate;

  const JobView& view() const { return observed.view; }
  const std::vector<AskedType>& types() const { return view().job.types; }
  /// Null: there is none.
  const AskedType* FindType(const std::string& name) const;
  int64_t end_millis() const;
  /// How long the programs of the present (or last) attempt have run; 0: they have not been
  /// started.
  int64_t run_millis() const;
  bool long_enough() const { return run_millis() >= gate.least_run_millis; }
  /// The job goes on or has succeeded, so that it did what it was meant to do.
  bool went_well() const;

  /// The ids of a type's tasks.
  std::vector<TaskId> TasksOf(const AskedType& type) const;
  /// The greatest value of a metric over the task's whole life; nullopt: it was not measured.
  std::optional<double> Peak(const TaskId& task, const std::string& metric) const;
  /// The mean since `from` (Unix time, milliseconds; 0: from the beginning).
  std::optional<double> Mean(const TaskId& task, const std::string& metric, int64_t from = 0) const;
  /// The value that the means of short stretches (at least ten seconds) exceed in a share of
  /// 1 - `quantile` of them.
  std::optional<double> Quantile(const TaskId& task, const std::string& metric,
                                 double quantile) const;
  /// Whether the task was measured often enough.
  bool measured(const TaskId& task) const;
  /// When the task named its first step in its present run; 0: it has not, or names none.
  int64_t FirstStepMillis(const TaskId& task) const;
  /// Whether the time lies within the present (or last) attempt. Earlier versions recorded what
  /// programs report by the clocks of their hosts, which may be wrong by hours.
  bool InAttempt(int64_t unix_millis) const;

 private:
  MetricPoints All(const TaskId& task, const std::string& metric, int points,
                   int64_t from = 0) const;

  const int64_t now_millis_;
};

/// "612 MiB"; "3.4 GiB" from ten GiB on in whole ones.
std::string MebibytesText(double mebibytes);
/// "12 %"
std::string PercentText(double share);
/// "1.25" without needless digits
std::string NumberText(double value);

}  // namespace tony::core
