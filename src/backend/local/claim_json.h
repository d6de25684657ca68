// A ledger claim as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/schedule/admission.h"

namespace tony::backend {

/// One JSON object and a newline.
std::string ClaimToJson(const core::Claim& claim);

/// InvalidArgument – `text` is not what some version of ClaimToJson() writes. Members it does not
/// know are ignored.
absl::StatusOr<core::Claim> ClaimFromJson(const std::string& text);

}  // namespace tony::backend
