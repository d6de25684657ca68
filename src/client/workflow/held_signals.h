// Keeps signals that would end a client until somebody can handle them.
#pragma once

#include <csignal>

namespace tony::client {

/// From construction on SIGTERM, SIGINT and SIGHUP wait: a submission is not cut in two, and a
/// signal that came in the middle is not lost. To be made before the process has threads, and to be
/// used by the same thread.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The first signal that waits; 0: none.
  static int Waiting();
  /// Lets the signals through, to whoever handles them now.
  void Release() const;
  /// Lets them wait again.
  void Hold() const;

 private:
  sigset_t before_{};
};

}  // namespace tony::client
