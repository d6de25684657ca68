// The port through which the API sees where a job's programs are.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "core/stacks/stack_report.h"

namespace tony::web {

/// Not thread safe: owned by the event loop.
class JobStacks {
 public:
  using Answer = std::function<void(const absl::StatusOr<core::StackReport>& report)>;

  virtual ~JobStacks() = default;
  /// The newest stacks of all tasks; null: none have been taken.
  virtual const core::StackReport* last() const = 0;
  /// Takes the stacks of all tasks. `answer` follows within seconds and may be called at once.
  /// ResourceExhausted – too many requests are going on.
  virtual void TakeAll(Answer answer) = 0;
};

}  // namespace tony::web
