// Where the program stands: rank 0 asks, and a thread of the program's answers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "collective/base/deadline.h"

namespace tony::collective {

/// Questions have numbers above 0; a newer one takes the place of one that nobody has taken. Thread
/// safe.
class Questions {
 public:
  static constexpr int64_t kNone = 0;     ///< nobody has asked until then
  static constexpr int64_t kClosed = -1;  ///< nobody will

  /// For the program: sleeps until somebody asks.
  int64_t Wait(Deadline deadline);
  /// False: the program has never waited for questions, so it will not answer.
  bool Ask(int64_t number);
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t asked_ = kNone;
  bool attended_ = false;
  bool closed_ = false;
};

}  // namespace tony::collective
