// Whether the text of a value is what its key asks for; pure.
#pragma once

#include <optional>
#include <string>

#include "jobfile/keys/key_table.h"

namespace tony::jobfile {

/// What is wrong with a value, and what to write instead; the words of Problem.
struct Complaint {
  std::string message;
  std::string remedy;
};

/// Checks form, unit and range of `value`. Paths must be absolute by now; whether they exist is not
/// asked.
std::optional<Complaint> CheckValue(const Key& key, const std::string& value);

/// The range of a number or of memory in words: `0 or more`, `10 to 1000`.
std::string RangeText(const Key& key);

}  // namespace tony::jobfile
