// All metrics of a job: a series for each metric of each task, and bands over the tasks of a type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/metrics/metric.h"
#include "core/metrics/series.h"
#include "core/model/task_id.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// The lines of a band, in their order: of the values of all tasks of a type at one time, the
/// least, the tenth percentile, the median, the ninetieth percentile, and the greatest.
inline constexpr std::array<double, 5> kBandQuantiles = {0, 0.1, 0.5, 0.9, 1};
/// One series for each of kBandQuantiles.
using MetricBand = std::array<const MetricSeries*, kBandQuantiles.size()>;

/// Keeps what executors measure, within a fixed amount of memory for the whole job: with more
/// tasks, each has coarser series, and in the end fewer of them (the last ones of MetricMeanings()
/// go first). Bands stay fine. Not thread safe.
class JobMetrics {
 public:
  struct Type {
    std::string name;
    int instances = 0;
  };
  struct Options {
    size_t bytes = size_t{64} * 1024 * 1024;
    std::vector<Type> types;
    int64_t stale_millis = 5'000;  ///< an older value of a task takes no part in a band
  };

  /// A type with fewer tasks has no bands: its tasks can be looked at one by one.
  static constexpr int kLeastForBands = 8;

  explicit JobMetrics(Options options);

  /// Adds a sample of the task's run number `attempt`, which arrived at `unix_millis`. A task that
  /// the options do not count is ignored.
  void Take(const TaskId& task, int attempt, const TaskUsage& usage, int64_t unix_millis);
  /// Adds the tasks' present values to the bands. To be called each second while samples come.
  void AddBands(int64_t unix_millis);

  /// The metrics that any task has, the most useful ones first.
  std::vector<std::string> Names() const;
  /// Null: there is none. A series lives as long as this object.
  const MetricSeries* Find(const TaskId& task, const std::string& metric) const;
  std::optional<MetricBand> FindBand(const std::string& type, const std::string& metric) const;
  /// Number of values for which there was no series, because the memory is used up.
  int64_t left_out() const { return left_out_; }

  /// A series for a file.
  struct Image {
    TaskId task;                     ///< index -1 for a line of a band
    std::optional<double> quantile;  ///< set for a line of a band: one of kBandQuantiles
    std::string metric;
    MetricSeries::Image series;
  };
  /// The number of series, which only rises.
  size_t series() const { return entries_.size(); }
  /// The series number `position`, below series().
  Image MakeImage(size_t position) const;
  /// Puts a series in place, as far as there is memory for it.
  void Restore(const Image& image);

 private:
  struct Entry {
    TaskId task;
    int quantile = kNoQuantile;  ///< position in kBandQuantiles
    int metric = 0;              ///< position in names_
    MetricSeries series;
  };
  /// Series by metric: positions in entries_.
  struct Owner {
    std::vector<int> entries;
    size_t metrics = 0;  ///< how many of them are there
  };
  struct Task : Owner {
    int attempt = 0;
    std::optional<TaskUsage> last;  ///< of this attempt
    int64_t last_millis = 0;
  };
  static constexpr int kNoQuantile = -1;
  static constexpr int kNoEntry = -1;
  static constexpr int kNoMetric = -1;
  static constexpr int kBandIndex = -1;

  /// Where series are made: for whom, of which size, and how many.
  struct Place {
    TaskId task;
    SeriesSize size;
    size_t most_metrics = 0;
    int lines = 1;  ///< one for a task, kBandQuantiles.size() for a band
  };

  bool Counts(const TaskId& task) const;
  Place PlaceOf(const TaskId& task) const;
  Place PlaceOfBands(const std::string& type) const;
  int NumberOf(const MetricValue& value);
  std::optional<int> FindNumber(const std::string& metric) const;
  static int FindEntry(const Owner& owner, int metric);
  int FindOrMakeEntries(const Place& place, Owner& owner, int metric);
  void AddBand(const std::string& type, Owner& bands, int metric, std::vector<float>& values,
               int64_t unix_millis);

  Options options_;
  SeriesSize task_size_;  ///< of each task's series
  size_t metrics_per_task_ = 0;
  SeriesSize band_size_;
  size_t metrics_per_type_ = 0;
  int64_t left_out_ = 0;
  std::vector<std::string> names_;       ///< of metrics; first those of MetricMeanings()
  std::map<std::string, int> reported_;  ///< the others: their positions, by the name in reports
  std::deque<Entry> entries_;
  std::map<TaskId, Task> tasks_;
  std::map<std::string, int> instances_;  ///< by type
  std::map<std::string, Owner> bands_;    ///< by type, where there are enough tasks
};

}  // namespace tony::core
