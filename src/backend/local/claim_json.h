// Converts a ledger claim to JSON text and back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/schedule/admission.h"

namespace tony::backend {

/// One JSON object followed by a newline.
std::string ClaimToJson(const core::Claim& claim);

/// InvalidArgument – no version of ClaimToJson() writes such a text. Unknown members are ignored.
absl::StatusOr<core::Claim> ClaimFromJson(const std::string& text);

}  // namespace tony::backend
