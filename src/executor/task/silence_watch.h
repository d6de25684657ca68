// Notices that the program has printed nothing for a long time.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"

namespace tony::executor {

/// Not thread safe. Does no I/O.
class SilenceWatch {
 public:
  struct Silence {
    int64_t millis = 0;    ///< 0: the program has printed something again
    double cpu_share = 0;  ///< cores that it used meanwhile, on the average
  };

  /// `limit`: after how long a silence is worth a note; 0: never.
  explicit SilenceWatch(Duration limit) : limit_(limit) {}

  /// A run of the program begins.
  void Reset(TimePoint now);
  /// Takes a measurement of the program. Returns a silence that has become long enough, or has
  /// ended, each once. `last_output`: when the program has printed last. `cpu_seconds`: of the
  /// whole run.
  std::optional<Silence> OnUsage(TimePoint last_output, double cpu_seconds, TimePoint now);
  /// The long silence that goes on; nullopt: none does.
  const std::optional<Silence>& silence() const { return silence_; }

 private:
  const Duration limit_;
  TimePoint since_;         ///< of the first measurement after the last output
  double cpu_seconds_ = 0;  ///< at that time
  std::optional<Silence> silence_;
};

}  // namespace tony::executor
