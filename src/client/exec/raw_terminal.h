// The user's terminal in raw mode: each key is passed on, and none acts here.
#pragma once

#include <termios.h>

#include <memory>

#include "absl/status/statusor.h"
#include "os/processes/pseudo_terminal.h"

namespace tony::client {

/// Raw from construction until destruction, which restores the settings that it has found. Not
/// thread safe.
class RawTerminal {
 public:
  /// Unavailable – the descriptor's settings cannot be changed.
  static absl::StatusOr<std::unique_ptr<RawTerminal>> Enter(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// Makes the terminal raw again: a shell that has continued this process may have changed it.
  void Reenter();

 private:
  RawTerminal(int fd, const termios& before) : fd_(fd), before_(before) {}

  const int fd_;
  const termios before_;
};

/// The terminal's present size; 24 rows and 80 columns if it does not tell.
os::TerminalSize SizeOfTerminal(int fd);

}  // namespace tony::client
