// An address has a code that is good for one visit, so a second browser needs another one.
#include "portal/terminal.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/safe_text.h"

namespace tony::portal {

Terminal::Terminal(EventLoop& loop, Portal& portal, bool json, bool shared)
    : portal_(portal), json_(json) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (shared) {
    PrintAddress();
    (void)PrintForPeople(STDERR_FILENO, "tony: the portal is there until Ctrl-C\n");
    return;
  }
  if (terminal) input_ = loop.WatchReadable(STDIN_FILENO, [this] { OnInput(); });
  PrintAddress();
  (void)PrintForPeople(STDERR_FILENO,
                       absl::StrCat("tony: the portal is there until Ctrl-C; the address is good "
                                    "for one visit within two minutes",
                                    terminal ? ", and Enter prints another one" : "", "\n"));
}

void Terminal::PrintAddress() {
  const std::string url = portal_.Invite();
  const std::string line =
      json_ ? nlohmann::json{{"url", url}}.dump() + "\n" : absl::StrCat(url, "\n");
  (void)PrintForPeople(STDOUT_FILENO, line);
}

void Terminal::OnInput() {
  char bytes[256];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count <= 0) return input_.reset();  // the terminal is gone; the portal stays
  if (std::string(bytes, static_cast<size_t>(count)).find('\n') != std::string::npos) {
    PrintAddress();
  }
}

}  // namespace tony::portal
