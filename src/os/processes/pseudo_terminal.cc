// The kernel's /dev/ptmx. The program's end is opened through the user's (TIOCGPTPEER), which needs
// no path: the process may see another /dev/pts than the one that the terminal is in.
#include "os/processes/pseudo_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tony::os {
namespace {

absl::Status NoTerminal() {
  const std::string why =
      absl::StrCat("cannot make a terminal for the program: ", std::strerror(errno));
  const bool room = errno != ENOSPC && errno != EMFILE && errno != ENFILE && errno != ENOMEM;
  return room ? absl::UnavailableError(why) : absl::ResourceExhaustedError(why);
}

}  // namespace

absl::StatusOr<PseudoTerminal> OpenPseudoTerminal(const TerminalSize& size) {
  PseudoTerminal terminal;
  terminal.user.Reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!terminal.user.valid() || ::unlockpt(terminal.user.get()) != 0) return NoTerminal();
  terminal.program.Reset(::ioctl(terminal.user.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.program.valid()) return NoTerminal();
  ResizeTerminal(terminal.user.get(), size);
  return terminal;
}

void ResizeTerminal(int fd, const TerminalSize& size) {
  constexpr int kMost = std::numeric_limits<unsigned short>::max();
  if (size.rows < 0 || size.columns < 0 || size.rows > kMost || size.columns > kMost) return;
  winsize window{};
  window.ws_row = static_cast<unsigned short>(size.rows);
  window.ws_col = static_cast<unsigned short>(size.columns);
  ::ioctl(fd, TIOCSWINSZ, &window);
}

}  // namespace tony::os
