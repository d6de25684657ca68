// What may change while a job runs, and which values of it are tried.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "collective/group/group.h"
#include "collective/group/switch_points.h"

namespace tony::collective {

struct Settings {
  size_t fusion_bytes = 0;  ///< as of Coordinator::Limits
  size_t window_us = 0;     ///< the same, in microseconds
  /// None: all ranks are of one host, where no operation has another way.
  std::optional<SwitchPoints> points;

  bool operator==(const Settings&) const = default;
  std::chrono::microseconds window() const { return std::chrono::microseconds(window_us); }
};

/// One number of the settings.
struct Parameter {
  std::vector<size_t> values;  ///< that are tried
  std::function<size_t&(Settings&)> of;
};

/// Those that are not fixed, the most promising ones first. `ways`: of the group of all ranks.
struct Tunable {
  bool fusion = true;
  bool window = true;
  bool points = true;
};
std::vector<Parameter> ParametersOf(const Tunable& tunable, const std::optional<Group::Ways>& ways);

}  // namespace tony::collective
