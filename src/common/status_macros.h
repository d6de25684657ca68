// Early return for absl::Status and absl::StatusOr, and context for their messages.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TONY_STATUS_CONCAT_(a, b) a##b
#define TONY_STATUS_NAME_(line) TONY_STATUS_CONCAT_(status_or_, line)

/// Returns from the enclosing function when `expression`, an absl::Status, is not OK.
#define TONY_RETURN_IF_ERROR(expression)         \
  do {                                           \
    absl::Status tony_status_ = (expression);    \
    if (!tony_status_.ok()) return tony_status_; \
  } while (false)

/// Declares or assigns `target` from an absl::StatusOr, or returns its error.
#define TONY_ASSIGN_OR_RETURN(target, expression) \
  TONY_ASSIGN_OR_RETURN_(TONY_STATUS_NAME_(__LINE__), target, expression)
#define TONY_ASSIGN_OR_RETURN_(holder, target, expression) \
  auto holder = (expression);                              \
  if (!holder.ok()) return holder.status();                \
  target = std::move(holder).value()

namespace tony {

/// Returns the same code and payloads with `context` in front of the message; OK stays OK.
absl::Status Annotate(const absl::Status& status, const std::string& context);

}  // namespace tony
