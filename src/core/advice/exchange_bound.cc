// Ranks that spend their time exchanging gradients with tony.collective.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/advice/heuristics.h"

namespace tony::core {
namespace {

constexpr double kMuch = 0.3;
constexpr double kVeryMuch = 0.5;

}  // namespace

std::vector<Advice> AdviseExchangeBound(const JobFacts& facts) {
  std::vector<double> shares;
  double operations = 0;
  if (!facts.long_enough()) return {};
  for (const AskedType& type : facts.types()) {
    for (const TaskId& task : facts.TasksOf(type)) {
      const std::optional<double> exchanging = facts.Mean(task, "exchanging");
      if (!facts.measured(task) || !exchanging) continue;
      shares.push_back(*exchanging + facts.Mean(task, "negotiating").value_or(0));
      operations += *exchanging;
    }
  }
  if (shares.size() < 2) return {};
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2),
                   shares.end());
  const double median = shares[shares.size() / 2];
  if (median <= kMuch) return {};
  const double exchanging = operations / static_cast<double>(shares.size());
  const bool negotiates = exchanging < median / 2;
  Advice advice{"exchange-bound",
                median > kVeryMuch ? AdviceSeverity::kSevere : AdviceSeverity::kModerate,
                static_cast<int>(shares.size())};
  advice.sentence =
      negotiates ? "Look for the slow rank: tensors wait for other ranks longer than they are "
                   "exchanged (see advice on stragglers)"
                 : "Exchange less: fuse more tensors into one operation, send them as 16 bits, or "
                   "compute on larger batches";
  advice.evidence = absl::StrCat("half of ", shares.size(), " ranks spend ", PercentText(median),
                                 " of their time or more in the collective, ",
                                 PercentText(exchanging), " exchanging data");
  advice.formula =
      "(negotiation + operation seconds) / time > 30 % at the median rank (Horovod's "
      "guide to tensor fusion and autotune)";
  advice.cost = absl::StrCat(PercentText(median), " of the run");
  if (!negotiates) advice.lines = {{"tony.horovod.autotune", "true"}};
  return {std::move(advice)};
}

}  // namespace tony::core
