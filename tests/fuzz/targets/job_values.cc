// Values of configuration keys, of whoever wrote the job file: numbers, lists, files, placement.
//
// Besides not crashing: what was read is read again from what is written of it, and a number is in
// the bounds that its type has.
#include <cmath>
#include <string>
#include <vector>

#include "jobfile/values/placement.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/values.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

void CheckLists(const std::string& text) {
  const std::vector<std::string> items = jobfile::SplitList(text);
  Require(jobfile::SplitList(jobfile::JoinList(items)) == items,
          "a list is read as it was written");
  for (const std::string& item : items) {
    const auto pair = jobfile::ParseKeyValue(item);
    Require(!pair || !pair->first.empty(), "a pair has a name");
  }
  (void)jobfile::ParseKeyValues(text);
}

void CheckNumbers(const std::string& text) {
  (void)jobfile::ParseBoolean(text);
  if (const auto number = jobfile::ParseWholeNumber(text)) {
    Require(jobfile::ParseWholeNumber(std::to_string(*number)) == number, "a number is its text");
  }
  const auto decimal = jobfile::ParseDecimal(text);
  Require(!decimal || std::isfinite(*decimal), "a number is finite");
  const auto memory = jobfile::ParseMemoryMb(text);
  Require(!memory || *memory >= 0, "memory is not negative");
  (void)jobfile::ParseMillisecondsWithUnit(text);
}

}  // namespace

void FuzzJobValues(std::string_view input) {
  const std::string text(input);
  CheckLists(text);
  CheckNumbers(text);
  if (const auto constraint = jobfile::ParsePlacement(text); constraint.ok()) {
    const auto again = jobfile::ParsePlacement(jobfile::FormatPlacement(*constraint));
    Require(again.ok() && *again == *constraint, "a constraint is read as it was written");
  } else {
    Require(!constraint.status().message().empty(), "a refusal has a sentence");
  }
  if (const auto entry = jobfile::ParseResource(text); entry.ok()) {
    Require(entry->local_name.find('/') == std::string::npos && entry->local_name != ".." &&
                entry->local_name != "." && !entry->local_name.empty(),
            "a local name is a plain file name");
    const auto again = jobfile::ParseResource(jobfile::FormatResource(*entry));
    Require(again.ok() && *again == *entry, "a file's entry is read as it was written");
  }
}

}  // namespace tony::fuzz
