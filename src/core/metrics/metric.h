// The values that tony keeps over a job's life, and how they follow from what executors measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// What a metric is, for people.
struct MetricMeaning {
  absl::string_view name;
  absl::string_view unit;   ///< "cores", "bytes", "bytes/s", "percent", "ratio", "1/s", …
  absl::string_view title;  ///< "Memory"
};

/// The meaning of each metric that tony itself measures, the most useful ones first.
const std::vector<MetricMeaning>& MetricMeanings();

/// What programs report themselves is called "report.NAME", such as "report.loss".
inline constexpr absl::string_view kReported = "report.";

/// One value at one time.
struct MetricValue {
  int meaning = kNone;         ///< position in MetricMeanings(), or kNone
  absl::string_view reported;  ///< else the name that the program gave it; of the sample
  double value = 0;

  static constexpr int kNone = -1;
};

/// The values of a sample, in the order of MetricMeanings(), those of the program behind "steps";
/// what is not known is left out. `before`: the sample before it, from the same run of the program,
/// or null; without it there are no rates. Rates are by TaskUsage::seconds, the executor's own
/// clock, so that they do not depend on how long a sample was under way.
std::vector<MetricValue> MetricValues(const TaskUsage* before, const TaskUsage& now);

}  // namespace tony::core
