// The search of one parameter runs through BeginLine(), BeginRound(), EndRound() and EndLine(). A
// Gaussian process, as Horovod has it, would save few samples with so few values, and would have to
// be told the noise (docs/design/collective.md).
#include "collective/tune/search.h"

#include <algorithm>
#include <utility>

namespace tony::collective {
namespace {

/// Measurements of each of the last two values.
constexpr int kRounds = 4;
/// Rounds in which all values of a line are measured.
constexpr int kRoundsOfAll = 2;

}  // namespace

double Median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(numbers.begin(), middle)) / 2;
}

Search::Search(Settings present, std::vector<Parameter> parameters, int most_tries)
    : parameters_(std::move(parameters)),
      tries_left_(most_tries),
      present_(std::move(present)),
      settings_(present_) {
  BeginLine();
}

void Search::BeginLine() {
  for (; unchanged_ < parameters_.size() && tries_left_ > 0;
       at_ = (at_ + 1) % parameters_.size(), ++unchanged_) {
    const Parameter& parameter = parameters_[at_];
    racers_ = {{.value = parameter.of(present_)}};
    for (const size_t value : parameter.values) {
      if (value == racers_[0].value || tries_left_ == 0) continue;
      racers_.push_back({.value = value});
      --tries_left_;
    }
    if (racers_.size() == 1) continue;
    round_ = 0;
    return BeginRound();
  }
  Finish();
}

size_t Search::turn() const { return round_ % 2 == 0 ? measured_ : racers_.size() - 1 - measured_; }

void Search::BeginRound() {
  measured_ = 0;
  settings_ = present_;
  parameters_[at_].of(settings_) = racers_[turn()].value;
}

void Search::Measured(double speed) {
  racers_[turn()].speeds.push_back(speed);
  if (++measured_ == racers_.size()) return EndRound();
  parameters_[at_].of(settings_) = racers_[turn()].value;
}

void Search::EndRound() {
  ++round_;
  if (racers_.size() == 2 && round_ >= kRounds) return EndLine();
  if (round_ >= kRoundsOfAll) {
    // The best measurement counts, not the mean: a disturbance makes a value slower, hardly ever
    // faster.
    const auto best = [](const Racer& racer) {
      return *std::max_element(racer.speeds.begin(), racer.speeds.end());
    };
    std::stable_sort(racers_.begin() + 1, racers_.end(),
                     [&](const Racer& one, const Racer& other) { return best(one) > best(other); });
    // At least one rival stays beside the present value, which is not sorted, so that the line ends
    // with a comparison of two.
    racers_.resize(std::max<size_t>((racers_.size() + 1) / 2, 2));
  }
  BeginRound();
}

void Search::EndLine() {
  const double before = Median(racers_[0].speeds);
  const double other = Median(racers_[1].speeds);
  size_t wins = 0;
  for (size_t round = 0; round < racers_[0].speeds.size(); ++round) {
    wins += racers_[1].speeds[round] > racers_[0].speeds[round] ? 1 : 0;
  }
  // The other value may lose one round to a disturbance.
  const bool better = other > before * kGain && wins + 1 >= racers_[0].speeds.size();
  speed_ = better ? other : before;
  if (better) {
    parameters_[at_].of(present_) = racers_[1].value;
    unchanged_ = 0;
  }
  // The line counts as unchanged even if it has changed its own parameter: it need not be searched
  // again before another parameter changes.
  ++unchanged_;
  at_ = (at_ + 1) % parameters_.size();
  BeginLine();
}

void Search::Finish() {
  settings_ = present_;
  done_ = true;
}

}  // namespace tony::collective
