// The text form of configuration values: numbers, booleans, memory and lists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tony::jobfile {

/// `true` or `false` in any case; nothing otherwise.
std::optional<bool> ParseBoolean(const std::string& text);

/// A decimal number with an optional minus sign and nothing else; nothing otherwise or when 64 bits
/// are too few.
std::optional<int64_t> ParseWholeNumber(const std::string& text);

/// A number with or without a fraction, `2` or `0.5`, with an optional minus sign and nothing else:
/// no exponent, no infinity; nothing otherwise.
std::optional<double> ParseDecimal(const std::string& text);

/// MiB of `2g`, `2048m` or `2048`, in any case; nothing for other text, fractions and negative
/// numbers.
std::optional<int64_t> ParseMemoryMb(const std::string& text);

/// Milliseconds of a number with a unit (`90s`, `5m`, `2h`, `1d`, `500ms`), to say what a value
/// with a unit that does not belong there was meant to be; nothing for anything else, a bare number
/// too.
std::optional<int64_t> ParseMillisecondsWithUnit(const std::string& text);

/// The items of a comma list, without white space around them and without empty items. `\,` stands
/// for a comma inside an item and `\\` for a backslash; any other backslash stands for itself.
std::vector<std::string> SplitList(const std::string& text);

/// `item` written so that SplitList() gives it back.
std::string EscapeListItem(const std::string& item);

/// The reverse of SplitList().
std::string JoinList(const std::vector<std::string>& items);

/// Name and value of `NAME=value` (the first `=` divides); nothing without a `=` or without a name.
std::optional<std::pair<std::string, std::string>> ParseKeyValue(const std::string& item);

/// The pairs of a list of `NAME=value`, the last one of a name winning; items that are no pair are
/// left out.
std::map<std::string, std::string> ParseKeyValues(const std::string& text);

}  // namespace tony::jobfile
