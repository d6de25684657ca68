// What a task's measurement is in Prometheus's terms: families of samples with their names and
// units.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/tasks/task_usage.h"

namespace tony::web {

/// Receives one sample. `labels`: those besides the task's, such as "gpu=\"0\""; may be empty.
using TakeSample = std::function<void(absl::string_view labels, double value)>;

/// A family of samples of each task; Prometheus' conventions for names: base units, "_total" for
/// counters. Plain data.
struct PrometheusFamily {
  std::string name;
  const char* type;
  const char* help;
  /// Passes on what the measurement has of the family; nothing where it is not known.
  std::function<void(const core::TaskUsage&, const TakeSample&)> read;
};

/// All but what programs report, which has names of its own. Never changes. Thread safe.
const std::vector<PrometheusFamily>& PrometheusFamilies();

}  // namespace tony::web
