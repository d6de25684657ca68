// Encodes submissions and decisions as bytes, and decodes them.
#pragma once

#include <string>
#include <string_view>

#include "collective/base/status.h"
#include "collective/request/request.h"

namespace tony::collective {

/// The encoding has the fields in the order of the struct. Numbers are little endian, the only byte
/// order supported; lengths and counts are uint32. There is no version: both ends run the same
/// library, which they make sure of when they meet.
std::string Encode(const Submission& submission);
std::string Encode(const Decision& decision);

/// InvalidArgument – the bytes are not exactly one such message. Decoding never reads beyond the
/// bytes, and takes no more memory than they justify.
Result<Submission> DecodeSubmission(std::string_view bytes);
Result<Decision> DecodeDecision(std::string_view bytes);

}  // namespace tony::collective
