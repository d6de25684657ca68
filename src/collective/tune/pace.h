// How long a training's steps take, by what is decided.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "collective/base/deadline.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Computation only. Nobody says where a step begins, but each of them has the same tensors: a step
/// goes from one decision about the mark to the next one. The mark is the largest tensor that is
/// reduced under a name that comes again; so what is reduced more often than once in a step, and is
/// smaller, does not look like a step. Not thread safe.
class Pace {
 public:
  struct Step {
    std::chrono::nanoseconds time;
    size_t bytes;  ///< reduced
  };

  /// What is decided next. Returns the step that ends with it.
  std::optional<Step> Take(const Decision& decision, Deadline now);
  /// The step under way is not to be counted.
  void Restart() { began_.reset(); }

 private:
  std::optional<Step> Begin(Deadline now);

  TensorKey mark_;
  size_t mark_bytes_ = 0;  ///< 0: there is none
  size_t others_ = 0;      ///< tensors since it came
  std::optional<Deadline> began_;
  size_t bytes_ = 0;
};

}  // namespace tony::collective
