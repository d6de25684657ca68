// The backoff schedule for starting another ApplicationMaster after one was lost.
#pragma once

#include <optional>

#include "common/clock.h"

namespace tony::core {

/// For the process that starts a job's ApplicationMasters: the client, or the keeper of a detached
/// job.
/// 1. An ApplicationMaster that was lost after a good while (kGoodWhile) is replaced at once:
///    executors wait for the next one, but not for long (tony.am.reattach-timeout-ms, 10 s by
///    default).
/// 2. An ApplicationMaster that was lost soon after its start, or could not be started, has met
///    something that may last, such as a full disk. The first replacement comes at once all the
///    same. Each further one in a row waits twice as long as the one before, but never longer than
///    two seconds during the first nine, so that executors that still wait are found.
/// 3. After those nine seconds longer waits cost nothing, so they grow to ten seconds: ten restarts
///    then last for twenty seconds instead of two.
/// 4. Each restart is charged to the budget, which is never refilled.
/// Not thread safe. Does no I/O.
class MasterRestarts {
 public:
  /// An ApplicationMaster that lived for this long ends the row of early losses.
  static constexpr Duration kGoodWhile = std::chrono::seconds(5);

  explicit MasterRestarts(int budget) : left_(budget) {}

  /// Charges one restart and returns the wait before it; nullopt when the budget is used up.
  /// `lived`: time from the lost ApplicationMaster's start until its loss.
  std::optional<Duration> Next(Duration lived);
  int left() const { return left_; }
  int used() const { return used_; }

 private:
  int left_;
  int used_ = 0;
  int in_a_row_ = 0;
};

}  // namespace tony::core
