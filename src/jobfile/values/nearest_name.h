// "Did you mean …?": the known name that a mistyped word is closest to.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tony::jobfile {

/// How many single-character insertions, deletions, replacements and swaps of neighbours turn
/// `left` into `right` (optimal string alignment distance). Case counts.
int EditDistance(const std::string& left, const std::string& right);

/// The candidate with the smallest edit distance to `word`, the first of several, if it is at most
/// a third of the word's length (at least 1, at most 4); nothing when none is that close.
std::optional<std::string> NearestName(const std::string& word,
                                       const std::vector<std::string>& candidates);

}  // namespace tony::jobfile
