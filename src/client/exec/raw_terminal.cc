// termios; changes wait for the output before them (TCSADRAIN), and keep keys that were typed
// ahead.
#include "client/exec/raw_terminal.h"

#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tony::client {

absl::StatusOr<std::unique_ptr<RawTerminal>> RawTerminal::Enter(int fd, Keys keys) {
  termios before{};
  if (::tcgetattr(fd, &before) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot read the terminal's settings: ", std::strerror(errno)));
  }
  std::unique_ptr<RawTerminal> terminal(new RawTerminal(fd, keys, before));
  terminal->Reenter();
  return terminal;
}

RawTerminal::~RawTerminal() { ::tcsetattr(fd_, TCSADRAIN, &before_); }

void RawTerminal::Reenter() {
  termios raw = before_;
  if (keys_ == Keys::kAll) {
    ::cfmakeraw(&raw);
  } else {
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
  }
  ::tcsetattr(fd_, TCSADRAIN, &raw);
}

os::TerminalSize SizeOfTerminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {24, 80};
  return {size.ws_row, size.ws_col};
}

}  // namespace tony::client
