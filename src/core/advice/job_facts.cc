#include "core/advice/job_facts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "core/tasks/arrival_dates.h"

namespace tony::core {
namespace {

/// Enough for ten seconds each in a run of an hour; longer runs have longer stretches anyway.
constexpr int kStretches = 360;

std::vector<MetricBucket> Filled(const MetricPoints& points) {
  std::vector<MetricBucket> filled;
  for (const MetricBucket& point : points.points) {
    if (!point.empty()) filled.push_back(point);
  }
  return filled;
}

}  // namespace

int64_t JobFacts::end_millis() const {
  if (view().ended_millis != 0) return view().ended_millis;
  return observed.lost ? observed.last_millis : now_millis_;
}

int64_t JobFacts::run_millis() const {
  const int64_t began = view().attempt_began_millis;
  return began == 0 ? 0 : std::max<int64_t>(0, end_millis() - began);
}

bool JobFacts::went_well() const {
  return !observed.lost && (!view().verdict || view().verdict->outcome == Outcome::kSucceeded);
}

const AskedType* JobFacts::FindType(const std::string& name) const {
  const auto found = std::find_if(types().begin(), types().end(),
                                  [&](const AskedType& type) { return type.name == name; });
  return found == types().end() ? nullptr : &*found;
}

std::vector<TaskId> JobFacts::TasksOf(const AskedType& type) const {
  std::vector<TaskId> tasks;
  for (int i = 0; i < type.instances; ++i) tasks.push_back({type.name, i});
  return tasks;
}

MetricPoints JobFacts::All(const TaskId& task, const std::string& metric, int points,
                           int64_t from) const {
  const MetricSeries* series = metrics.Find(task, metric);
  if (series == nullptr || series->empty()) return {};
  return series->Read(std::max(from, series->begin_millis()), series->last_millis() + 1, points);
}

std::optional<double> JobFacts::Peak(const TaskId& task, const std::string& metric) const {
  std::optional<double> peak;
  for (const MetricBucket& bucket : Filled(All(task, metric, kStretches))) {
    peak = std::max<double>(peak.value_or(bucket.max), bucket.max);
  }
  return peak;
}

std::optional<double> JobFacts::Mean(const TaskId& task, const std::string& metric,
                                     int64_t from) const {
  const std::vector<MetricBucket> buckets = Filled(All(task, metric, kStretches, from));
  if (buckets.empty()) return std::nullopt;
  double sum = 0;
  for (const MetricBucket& bucket : buckets) sum += bucket.mean;
  return sum / static_cast<double>(buckets.size());
}

std::optional<double> JobFacts::Quantile(const TaskId& task, const std::string& metric,
                                         double quantile) const {
  const MetricSeries* series = metrics.Find(task, metric);
  if (series == nullptr || series->empty()) return std::nullopt;
  // Stretches of ten seconds or more: the coarse buckets, whatever finer parts there are.
  const int64_t length = series->last_millis() + 1 - series->begin_millis();
  const int points =
      static_cast<int>(std::clamp<int64_t>(length / MetricSeries::kFineMillis, 1, kStretches));
  std::vector<MetricBucket> buckets = Filled(All(task, metric, points));
  if (buckets.empty()) return std::nullopt;
  std::sort(
      buckets.begin(), buckets.end(),
      [](const MetricBucket& left, const MetricBucket& right) { return left.mean < right.mean; });
  const auto last = static_cast<double>(buckets.size() - 1);
  return buckets[static_cast<size_t>(std::lround(quantile * last))].mean;
}

bool JobFacts::measured(const TaskId& task) const {
  const MetricSeries* series = metrics.Find(task, "memory");
  return series != nullptr && series->count() >= gate.least_samples;
}

int64_t JobFacts::FirstStepMillis(const TaskId& task) const {
  const JobView::Task* found = view().FindTask(task);
  if (found == nullptr || !found->usage || !found->usage->progress) return 0;
  const int64_t millis = found->usage->progress->first_step_millis;
  return InAttempt(millis) ? millis : 0;
}

bool JobFacts::InAttempt(int64_t unix_millis) const {
  const int64_t began = view().attempt_began_millis;
  return began > 0 && unix_millis >= began - kProgressToleranceMillis &&
         unix_millis <= end_millis() + kProgressToleranceMillis;
}

std::string MebibytesText(double mebibytes) {
  if (mebibytes < 1024) return absl::StrFormat("%.0f MiB", mebibytes);
  if (mebibytes < 10 * 1024) return absl::StrFormat("%.1f GiB", mebibytes / 1024);
  return absl::StrFormat("%.0f GiB", mebibytes / 1024);
}

std::string PercentText(double share) { return absl::StrFormat("%.0f %%", share * 100); }

std::string NumberText(double value) { return absl::StrFormat("%.3g", value); }

}  // namespace tony::core
