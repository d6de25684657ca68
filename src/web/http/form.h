// The encoding of forms and of the queries of addresses.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tony::web {

/// Decodes "%41". Nothing if a percent sign lacks its two digits, or if the text has control
/// characters, encoded or not.
std::optional<std::string> DecodePercents(const std::string& text);

/// The names and values of "a=1&b=two+words", decoded; of each name the first value. Nothing if a
/// part cannot be decoded.
std::optional<std::map<std::string, std::string>> ReadForm(const std::string& text);

}  // namespace tony::web
