// Restarts that could not help, and restarts that would have helped.
#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

/// How often in a row, up to the last one, attempts failed with one exception.
struct Row {
  std::string error;
  int length = 0;
};

Row LongestRow(const std::vector<JobView::Attempt>& attempts) {
  Row longest;
  Row row;
  for (const JobView::Attempt& attempt : attempts) {
    if (attempt.error.empty() || attempt.error != row.error) row = {attempt.error, 0};
    ++row.length;
    if (!row.error.empty() && row.length > longest.length) longest = row;
  }
  return longest;
}

}  // namespace

std::vector<Advice> AdviseSameFailure(const JobFacts& facts) {
  std::vector<Advice> all;
  const Row row = LongestRow(facts.view().attempts);
  if (row.length >= 2) {
    Advice advice{"same-failure", AdviceSeverity::kModerate,
                  static_cast<int>(facts.view().tasks.size())};
    advice.sentence = absl::StrCat("Mend the program instead of restarting it: ", row.error);
    advice.evidence = absl::StrCat(row.length, " attempts in a row failed with the same exception");
    advice.formula =
        "equal last exception in two attempts or more (as Determined ends retries that "
        "cannot help)";
    advice.lines = {{"tony.am.retry-count", "0"}};
    all.push_back(std::move(advice));
  }
  const std::optional<Verdict>& verdict = facts.view().verdict;
  const bool lost = verdict && (verdict->reason == Reason::kTaskLost ||
                                verdict->reason == Reason::kHeartbeatLost);
  // With a budget there would have been another attempt.
  if (lost && facts.view().attempts.empty()) {
    Advice advice{"no-retry", AdviceSeverity::kSevere, static_cast<int>(facts.view().tasks.size())};
    advice.sentence = "Allow restarts after the loss of a machine";
    advice.evidence = verdict->sentence;
    advice.formula = "a loss ended the job, and no restart after losses is allowed";
    advice.lines = {{"tony.am.infrastructure-retry-count", "3"}};
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace tony::core
