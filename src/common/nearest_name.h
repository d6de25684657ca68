// Finds the known name nearest to a mistyped word, for "did you mean …?".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tony {

/// The optimal string alignment distance: the number of single-character insertions, deletions,
/// replacements and swaps of neighbours that turn `left` into `right`. Case-sensitive.
int EditDistance(const std::string& left, const std::string& right);

/// The candidate with the smallest edit distance to `word`; the first one in case of a tie. Nothing
/// if that distance exceeds a third of the word's length (at least 1, at most 4).
std::optional<std::string> NearestName(const std::string& word,
                                       const std::vector<std::string>& candidates);

}  // namespace tony
