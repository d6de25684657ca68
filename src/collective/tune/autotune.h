// Tunes a job while it trains.
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

/// Computation only, of the rank that decides: what it is told of the clock is all that it knows of
/// it. A sample is some steps (pace.h) with the same settings; the step in which these change does
/// not count. Its speed is the median of its steps' bytes in the median of their times: a step in
/// which the program did something else, or nothing, is one of many. When the search has ended it
/// has no more to do. Not thread safe.
class Autotune {
 public:
  struct Options {
    int warmup_samples = 3;  ///< before the first one that counts
    int steps_per_sample = 10;
    /// Of a sample at least, for steps that are shorter than what disturbs them.
    std::chrono::milliseconds least_time{100};
    int most_tries = 20;  ///< as of Search
  };
  struct Ports {
    /// A line of the table: first its head, then one for each sample, at last one for the choice.
    std::function<void(const std::string& line)> log;
    /// For people, once: what was chosen.
    std::function<void(const std::string& sentence)> say;
  };

  Autotune(const Settings& present, std::vector<Parameter> parameters, Options options,
           Ports ports);

  /// What is decided next. Returns settings that all later ones are to be decided with.
  std::optional<Settings> Take(const Decision& decision, Deadline now);
  bool done() const { return search_.done(); }

 private:
  /// In bytes per microsecond; of the steps, which are at an end.
  double TakeSpeed();
  void Log(const Settings& settings, double speed, bool chosen) const;

  const Options options_;
  const Ports ports_;
  Search search_;
  Pace pace_;
  std::vector<Pace::Step> steps_;
  std::chrono::nanoseconds time_{0};  ///< of all of them
  int samples_ = 0;
};

}  // namespace tony::collective
