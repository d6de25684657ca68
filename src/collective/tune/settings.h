// The settings that can change while a job runs, and the values that autotuning tries.
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
  size_t fusion_bytes = 0;  ///< as in Coordinator::Limits
  size_t window_us = 0;     ///< Coordinator::Limits::window, in microseconds
  /// None: all ranks are on one host, where no operation has a choice of ways.
  std::optional<SwitchPoints> points;

  bool operator==(const Settings&) const = default;
  std::chrono::microseconds window() const { return std::chrono::microseconds(window_us); }
};

/// One number of the settings that can be tuned.
struct Parameter {
  std::vector<size_t> values;  ///< the values to try
  /// The parameter's number in the given settings.
  std::function<size_t&(Settings&)> of;
};

/// Which settings are not fixed by the user.
struct Tunable {
  bool fusion = true;
  bool window = true;
  bool points = true;
};
/// The parameters that `tunable` allows, the most promising ones first. `ways`: those of the group
/// of all ranks.
std::vector<Parameter> ParametersOf(const Tunable& tunable, const std::optional<Group::Ways>& ways);

}  // namespace tony::collective
