// Rank 0's question where the program stands, handed from the links' thread to a thread of the
// program.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "collective/base/deadline.h"

namespace tony::collective {

/// Questions have numbers above 0. A newer question replaces one that nobody has taken. Thread
/// safe.
class Questions {
 public:
  static constexpr int64_t kNone = 0;     ///< nobody has asked before the deadline
  static constexpr int64_t kClosed = -1;  ///< nobody will ask any more

  /// Called by the program: sleeps until a question comes, the deadline, or Close(). Returns the
  /// question's number, kNone or kClosed.
  int64_t Wait(Deadline deadline);
  /// Hands a question to the program. Returns false if nobody will answer: the program has never
  /// called Wait(), or the questions are closed.
  bool Ask(int64_t number);
  /// Wakes whoever waits; no question follows.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t asked_ = kNone;
  bool attended_ = false;
  bool closed_ = false;
};

}  // namespace tony::collective
