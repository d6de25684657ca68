// Measures how long a training's steps take, from the decisions alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "collective/base/deadline.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Computation only. Nobody says where a step begins, but each step has the same tensors: a step
/// lasts from one decision about the mark to the next. The mark is the largest tensor that is
/// reduced under a name that comes again. So a smaller tensor that is reduced several times in a
/// step does not look like a step. Not thread safe.
class Pace {
 public:
  struct Step {
    std::chrono::nanoseconds time;
    size_t bytes;  ///< bytes reduced in the step
  };

  /// Takes the next decision of the order, made at `now`. Returns the step that ends with it; none:
  /// no step ends.
  std::optional<Step> Take(const Decision& decision, Deadline now);
  /// Drops the step under way: it does not count.
  void Restart() { began_.reset(); }

 private:
  std::optional<Step> Begin(Deadline now);

  TensorKey mark_;
  size_t mark_bytes_ = 0;  ///< 0: there is no mark
  size_t others_ = 0;      ///< tensors since the mark came last
  std::optional<Deadline> began_;
  size_t bytes_ = 0;
};

}  // namespace tony::collective
