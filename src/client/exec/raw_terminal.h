// The user's terminal in raw mode: each key is passed on at once.
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
  enum class Keys {
    kAll,     ///< no key acts here: Ctrl-C is a byte like others, and output is not changed either
    kSingle,  ///< Ctrl-C and Ctrl-Z act as ever; keys are not echoed, and need no Enter
  };

  /// Unavailable – the descriptor's settings cannot be changed.
  static absl::StatusOr<std::unique_ptr<RawTerminal>> Enter(int fd, Keys keys = Keys::kAll);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// Makes the terminal raw again: a shell that has continued this process may have changed it.
  void Reenter();

 private:
  RawTerminal(int fd, Keys keys, const termios& before) : fd_(fd), keys_(keys), before_(before) {}

  const int fd_;
  const Keys keys_;
  const termios before_;
};

/// The terminal's present size; 24 rows and 80 columns if it does not tell.
os::TerminalSize SizeOfTerminal(int fd);

}  // namespace tony::client
