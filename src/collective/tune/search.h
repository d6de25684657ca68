// Finds the fastest settings, by speeds that somebody measures.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/tune/settings.h"

namespace tony::collective {

/// Computation only: coordinate descent, each line of it by successive halving.
///
/// 1. One parameter after the other is tried; all others stay at the best that is known.
/// 2. Its values, the present one among them, take turns to be measured, once in each round, in the
///    other direction each time: what slows all of them down for a while wrongs none.
/// 3. From the second round on the slower half leaves after each, by the best that was measured of
///    each value: what disturbs makes slower, hardly ever faster. The present value stays.
/// 4. When two are left and each has been measured four times, the other one takes the present
///    one's place if its median is better by kGain, and it was faster in all rounds but one.
/// 5. The search ends when no parameter has changed since its last line, or when so many values
///    have been tried as were allowed.
/// Not thread safe.
class Search {
 public:
  /// Faster by less is noise, or not worth a change.
  static constexpr double kGain = 1.03;

  /// `present`: where it begins. `most_tries`: values besides the present ones.
  Search(Settings present, std::vector<Parameter> parameters, int most_tries);

  /// The next ones to be measured; when it is done the best.
  const Settings& settings() const { return settings_; }
  bool done() const { return done_; }
  /// Of settings(), in any unit; more is better. Not when it is done.
  void Measured(double speed);
  /// Of the best, when it is done: the median of what was measured of it last; 0: nothing was.
  double speed() const { return speed_; }

 private:
  struct Racer {
    size_t value = 0;
    std::vector<double> speeds;
  };

  /// The next line that has more than one value, from the parameter at_ on, or the end.
  void BeginLine();
  void BeginRound();
  void EndRound();
  void EndLine();
  void Finish();
  /// Which one of the racers is next.
  size_t turn() const;

  const std::vector<Parameter> parameters_;
  int tries_left_;
  Settings present_;
  Settings settings_;
  bool done_ = false;
  double speed_ = 0;
  size_t at_ = 0;              ///< the line's parameter
  size_t unchanged_ = 0;       ///< lines one after the other
  std::vector<Racer> racers_;  ///< the first one is the present value's
  int round_ = 0;
  size_t measured_ = 0;  ///< in this round
};

/// Of numbers, at least one; of an even count the mean of both in the middle.
double Median(std::vector<double> numbers);

}  // namespace tony::collective
