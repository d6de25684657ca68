// Optimal string alignment distance by dynamic programming, with three rows of the usual table: a swap
// of neighbours looks back two rows.
#include "common/nearest_name.h"

#include <algorithm>
#include <utility>

namespace tony {

int EditDistance(const std::string& left, const std::string& right) {
  const size_t width = right.size() + 1;
  std::vector<int> before_last(width), last(width), current(width);
  for (size_t j = 0; j < width; ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= left.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int replace = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      current[j] = std::min({replace, last[j] + 1, current[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) current[j] = std::min(current[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[right.size()];
}

std::optional<std::string> NearestName(const std::string& word,
                                       const std::vector<std::string>& candidates) {
  int best = std::clamp(static_cast<int>(word.size()) / 3, 1, 4) + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    // The difference in length is a lower bound of the distance. It rules out most candidates, and
    // keeps a "word" of megabytes from costing quadratic time.
    const size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) >= static_cast<size_t>(best)) continue;
    const int distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace tony
