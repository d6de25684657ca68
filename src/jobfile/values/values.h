// The text form of configuration values: numbers, booleans, memory and lists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tony::jobfile {

/// Parses `true` or `false`, case-insensitive; nothing for other texts.
std::optional<bool> ParseBoolean(const std::string& text);

/// Parses a whole number: digits with an optional minus sign. Nothing for other texts, and for
/// numbers that do not fit into 64 bits.
std::optional<int64_t> ParseWholeNumber(const std::string& text);

/// Parses a number with or without a fraction, `2` or `0.5`, with an optional minus sign. Nothing
/// for other texts, such as an exponent or infinity.
std::optional<double> ParseDecimal(const std::string& text);

/// Parses an amount of memory, `2g`, `2048m` or `2048`, case-insensitive. Returns MiB; nothing for
/// other texts, fractions and negative numbers.
std::optional<int64_t> ParseMemoryMb(const std::string& text);

/// Parses a duration with a unit (`90s`, `5m`, `2h`, `1d`, `500ms`). Returns milliseconds; nothing
/// for other texts, also for a bare number. Keys take no units: this function serves the message
/// that suggests the right number.
std::optional<int64_t> ParseMillisecondsWithUnit(const std::string& text);

/// The items of a comma list, without white space around them and without empty items. `\,` stands
/// for a comma inside an item and `\\` for a backslash; any other backslash stands for itself.
std::vector<std::string> SplitList(const std::string& text);

/// `item` with its commas and backslashes escaped, so that SplitList() returns it unchanged.
std::string EscapeListItem(const std::string& item);

/// The inverse of SplitList().
std::string JoinList(const std::vector<std::string>& items);

/// Parses `NAME=value`; the first `=` is the divider. Nothing without a `=` or without a name.
std::optional<std::pair<std::string, std::string>> ParseKeyValue(const std::string& item);

/// Parses a list of `NAME=value`. The last pair of a name wins; items that are no pair are left
/// out.
std::map<std::string, std::string> ParseKeyValues(const std::string& text);

}  // namespace tony::jobfile
