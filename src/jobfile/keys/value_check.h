// Checks whether the text of a value has the form and range that its key demands. Pure.
#pragma once

#include <optional>
#include <string>

#include "jobfile/keys/key_table.h"

namespace tony::jobfile {

/// The message and the remedy for a wrong value, in the form of Problem.
struct Complaint {
  std::string message;
  std::string remedy;
};

/// Checks form, unit and range of `value`. Nothing: the value is valid. Paths must be absolute at
/// this point; their existence is not checked.
std::optional<Complaint> CheckValue(const Key& key, const std::string& value);

/// The text of the range of a number or an amount of memory: `0 or more`, `10 to 1000`.
std::string RangeText(const Key& key);

}  // namespace tony::jobfile
