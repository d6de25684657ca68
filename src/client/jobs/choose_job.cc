// An exact match wins over partial ones, so that an id that is a part of another one can still be
// chosen. Suffixes count, because the random end of an id is the shortest part that is unique.
#include "client/jobs/choose_job.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::client {
namespace {

constexpr size_t kNamesInMessage = 5;

std::string SomeNames(const std::vector<std::string>& ids) {
  const size_t shown = std::min(ids.size(), kNamesInMessage);
  return absl::StrCat(absl::StrJoin(ids.begin(), ids.begin() + shown, ", "),
                      shown < ids.size() ? ", …" : "");
}

}  // namespace

absl::StatusOr<std::string> ChooseJob(const std::vector<std::string>& ids, const std::string& wish,
                                      const std::string& where) {
  if (ids.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there are no jobs ", where, "; tony-submit starts one"));
  }
  if (wish.empty() || wish == "latest") return ids.front();
  std::vector<std::string> matches;
  for (const std::string& id : ids) {
    if (id == wish) return id;
    if (absl::StartsWith(id, wish) || absl::EndsWith(id, wish)) matches.push_back(id);
  }
  if (matches.empty()) {
    return absl::NotFoundError(absl::StrCat("no job '", wish, "'; known jobs: ", SomeNames(ids),
                                            " (tony list shows all)"));
  }
  if (matches.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", wish, "' means several jobs: ", SomeNames(matches), "; write more of the name"));
  }
  return matches.front();
}

}  // namespace tony::client
