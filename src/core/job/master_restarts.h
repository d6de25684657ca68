// When an ApplicationMaster that was lost is replaced, and how often.
#pragma once

#include <optional>

#include "common/clock.h"

namespace tony::core {

/// For whoever starts a job's ApplicationMasters: its client, or the keeper of a detached job.
/// 1. One that was lost after a good while is replaced at once: executors wait for the next one,
///    but not for long (tony.am.reattach-timeout-ms, 10 s by default).
/// 2. One that was lost soon after its start, or could not be started, has met something that may
///    last, such as a full disk. The first replacement comes at once all the same; each further one
///    in a row waits twice as long as the one before, but for the first nine seconds never longer
///    than two, so that executors that still wait are found.
/// 3. After that nothing is lost by waiting longer, up to ten seconds: ten restarts last for twenty
///    seconds instead of for two.
/// 4. Each costs one restart of the budget, which is never filled up again.
/// Not thread safe. Does no I/O.
class MasterRestarts {
 public:
  /// One that has lived for so long has ended the row.
  static constexpr Duration kGoodWhile = std::chrono::seconds(5);

  explicit MasterRestarts(int budget) : left_(budget) {}

  /// How long to wait before the next one is started, which it pays for; nothing: none is left.
  /// `lived`: how long ago the one that was lost had been started.
  std::optional<Duration> Next(Duration lived);
  int left() const { return left_; }
  int used() const { return used_; }

 private:
  int left_;
  int used_ = 0;
  int in_a_row_ = 0;
};

}  // namespace tony::core
