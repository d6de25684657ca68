// A terminal for a program that runs elsewhere than its user's terminal.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// A terminal's size in characters.
struct TerminalSize {
  int rows = 0;
  int columns = 0;

  bool operator==(const TerminalSize&) const = default;
};

/// The two ends of a pseudo terminal, both closed on exec. The program's end must be the
/// controlling terminal of the program's session, for Ctrl-C and the like to become signals.
struct PseudoTerminal {
  UniqueFd user;     // what is written here is typed; not blocking
  UniqueFd program;  // the program's standard streams
};

/// Opens a pseudo terminal that is not this process's own. ResourceExhausted – the kernel has no
/// more of them, or no descriptor. Unavailable – /dev/ptmx cannot be opened.
absl::StatusOr<PseudoTerminal> OpenPseudoTerminal(const TerminalSize& size);

/// Sets the size of the terminal that has an end `fd`; its program gets SIGWINCH. Sizes that the
/// kernel cannot store are left out.
void ResizeTerminal(int fd, const TerminalSize& size);

}  // namespace tony::os
