// Makes the OptionStore of a row: how the text of an option becomes the member that it sets.
//
// Every target must outlive the table.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/command_line.h"
#include "common/status_macros.h"

namespace tony {

/// Sets `target` to true.
OptionStore StoreFlag(bool& target);

/// Keeps the text as it is; a path is one, too.
OptionStore StoreText(std::string& target);

/// Appends the items between `separator`; empty ones are left out.
OptionStore StoreList(std::vector<std::string>& target, char separator);

/// Appends what `parse` makes of the text, for a repeatable row; see StoreParsed().
template <typename Value, typename Parse>
OptionStore StoreItem(std::vector<Value>& target, Parse parse) {
  return [&target, parse = std::move(parse)](const std::string& text) -> absl::Status {
    TONY_ASSIGN_OR_RETURN(Value value, parse(text));
    target.push_back(std::move(value));
    return absl::OkStatus();
  };
}

/// Keeps what `parse` makes of the text: a function of std::string that returns
/// absl::StatusOr<Value>, whose message goes behind "--name=value: ".
template <typename Value, typename Parse>
OptionStore StoreParsed(Value& target, Parse parse) {
  return [&target, parse = std::move(parse)](const std::string& text) -> absl::Status {
    TONY_ASSIGN_OR_RETURN(target, parse(text));
    return absl::OkStatus();
  };
}

/// Parses a whole number in decimal digits. InvalidArgument – it is none, or less than `least` or
/// more than `most`; `what` names it with its article and its unit, e.g. "a number of MiB".
template <typename Number>
absl::StatusOr<Number> ParseNumber(
    const std::string& text, const std::string& what, std::type_identity_t<Number> least = 0,
    std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  Number number = 0;
  if (absl::SimpleAtoi(text, &number) && least <= number && number <= most) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("not ", what, "; expected a number from ", least, " to ", most));
}

/// Keeps a number from `least` to `most`; see ParseNumber().
template <typename Number>
OptionStore StoreNumber(Number& target, const std::string& what,
                        std::type_identity_t<Number> least = 0,
                        std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  return StoreParsed(target, [what, least, most](const std::string& text) {
    return ParseNumber<Number>(text, what, least, most);
  });
}

/// Keeps a number of milliseconds, at least `least`.
OptionStore StoreMilliseconds(std::chrono::milliseconds& target, int64_t least);

}  // namespace tony
