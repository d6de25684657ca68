// Submissions and decisions as bytes.
#pragma once

#include <string>
#include <string_view>

#include "collective/base/status.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Numbers in the machine's own order, little endian: lengths and counts as uint32, everything in
/// the order of the struct. Both ends run the same library, which they make sure of when they meet.
std::string Encode(const Submission& submission);
std::string Encode(const Decision& decision);

/// InvalidArgument: the bytes are not of such a message as a whole. Nothing is read beyond them,
/// and no more memory is taken than they justify.
Result<Submission> DecodeSubmission(std::string_view bytes);
Result<Decision> DecodeDecision(std::string_view bytes);

}  // namespace tony::collective
