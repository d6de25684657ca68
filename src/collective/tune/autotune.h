// Tunes the engine's settings while a job trains, by the speed of its steps.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/request/request.h"
#include "collective/tune/pace.h"
#include "collective/tune/search.h"
#include "collective/tune/settings.h"

namespace tony::collective {

/// Computation only, of the rank that decides: it knows the time only from `now`. A sample is
/// several steps (pace.h) with the same settings; the step in which the settings change does not
/// count. A sample's speed is the median of its steps' bytes divided by the median of their times,
/// so that a step in which the program did something else, or nothing, has no weight. Nothing is
/// left to do once the search has ended. Not thread safe.
class Autotune {
 public:
  struct Options {
    int warmup_samples = 3;  ///< samples before the first one that counts
    int steps_per_sample = 10;
    /// A sample lasts at least this long, for steps that are shorter than what disturbs them.
    std::chrono::milliseconds least_time{100};
    int most_tries = 20;  ///< as in Search's constructor
  };
  struct Callbacks {
    /// Takes a line of the table: first the header, then one line for each sample, at last one for
    /// the choice.
    std::function<void(const std::string& line)> log;
    /// Takes a sentence for people about the choice, once.
    std::function<void(const std::string& sentence)> say;
  };

  Autotune(const Settings& present, std::vector<Parameter> parameters, Options options,
           Callbacks callbacks);

  /// Takes the next decision of the order, made at `now`. Returns new settings, if they change; all
  /// later decisions are to be made with them.
  std::optional<Settings> Take(const Decision& decision, Deadline now);
  bool done() const { return search_.done(); }

 private:
  /// The sample's speed in bytes per microsecond. Clears its steps.
  double TakeSpeed();
  void Log(const Settings& settings, double speed, bool chosen) const;

  const Options options_;
  const Callbacks callbacks_;
  Search search_;
  Pace pace_;
  std::vector<Pace::Step> steps_;
  std::chrono::nanoseconds time_{0};  ///< sum of the times of `steps_`
  int samples_ = 0;
};

}  // namespace tony::collective
