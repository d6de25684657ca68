// Searches the fastest settings, by speeds that the caller measures.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/tune/settings.h"

namespace tony::collective {

/// Computation only: coordinate descent, with successive halving on each line (a line: one
/// parameter with its values).
///
/// 1. One parameter after the other is tried; the others stay at the best values known.
/// 2. In each round every value of the line, the present one among them, is measured once. Each
///    round goes in the other direction, so that a slow period of the machine puts no value at a
///    disadvantage.
/// 3. From the second round on, the slower half of the values leaves after each round. The best
///    measurement of each value counts: disturbances make a value slower, hardly ever faster. The
///    present value never leaves.
/// 4. The line ends when two values are left and each has been measured four times. The other value
///    replaces the present one if its median is better by kGain and it was faster in all rounds, or
///    in all but one.
/// 5. The search ends when no parameter has changed since its last line, or when the allowed number
///    of values has been tried.
/// Not thread safe.
class Search {
 public:
  /// The factor by which a value has to be faster: less is noise, or not worth a change.
  static constexpr double kGain = 1.03;

  /// `present`: the settings at the start. `most_tries`: most values that are tried, not counting
  /// the present ones.
  Search(Settings present, std::vector<Parameter> parameters, int most_tries);

  /// The settings to be measured next; when the search is done, the best ones.
  const Settings& settings() const { return settings_; }
  bool done() const { return done_; }
  /// Takes the speed of settings(), in any unit; more is better. Not to be called when the search
  /// is done.
  void Measured(double speed);
  /// When the search is done: the speed of the best settings, as the median of their last
  /// measurements; 0: nothing was measured.
  double speed() const { return speed_; }

 private:
  struct Racer {
    size_t value = 0;
    std::vector<double> speeds;
  };

  /// Begins the next line that has more than one value, from the parameter at_ on; ends the search
  /// if there is none.
  void BeginLine();
  void BeginRound();
  void EndRound();
  void EndLine();
  void Finish();
  /// Index of the racer that is measured next.
  size_t turn() const;

  const std::vector<Parameter> parameters_;
  int tries_left_;
  Settings present_;
  Settings settings_;
  bool done_ = false;
  double speed_ = 0;
  size_t at_ = 0;              ///< index of the line's parameter
  size_t unchanged_ = 0;       ///< lines in a row that changed nothing
  std::vector<Racer> racers_;  ///< the first one is the present value
  int round_ = 0;
  size_t measured_ = 0;  ///< racers measured in this round
};

/// The median of one or more numbers; of an even count, the mean of the two in the middle.
double Median(std::vector<double> numbers);

}  // namespace tony::collective
