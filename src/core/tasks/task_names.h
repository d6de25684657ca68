// The short list of task names in a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tony::core {

inline constexpr size_t kMostTaskNames = 16;

/// The names of those `tasks` (each with an `id`) for which `predicate` holds, e.g. {"ps:0",
/// "worker:3"}; at most `limit` names, then "and N more".
template <typename Tasks, typename Predicate>
std::vector<std::string> TaskNames(const Tasks& tasks, Predicate predicate,
                                   size_t limit = kMostTaskNames) {
  std::vector<std::string> names;
  size_t more = 0;
  for (const auto& task : tasks) {
    if (!predicate(task)) continue;
    if (names.size() < limit) {
      names.push_back(task.id.ToString());
    } else {
      ++more;
    }
  }
  if (more > 0) names.push_back("and " + std::to_string(more) + " more");
  return names;
}

}  // namespace tony::core
