// The terminal gets its echo back also when Ctrl-C comes while the password is typed: the signals
// wait until then.
#include "portal/login/new_user.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/password_hash.h"
#include "portal/login/users_file.h"

namespace tony::portal {
namespace {

constexpr size_t kShortestPassword = 8;
constexpr size_t kLongestPassword = 1024;

/// Switches the echo of the terminal off while it lives. Not thread safe.
class WithoutEcho {
 public:
  WithoutEcho() {
    sigset_t interrupts;
    sigemptyset(&interrupts);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) {
      sigaddset(&interrupts, number);
    }
    ::sigprocmask(SIG_BLOCK, &interrupts, &signals_);
    changed_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!changed_) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    quiet.c_lflag |= ECHONL;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~WithoutEcho() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    ::sigprocmask(SIG_SETMASK, &signals_, nullptr);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;

 private:
  termios before_{};
  sigset_t signals_{};
  bool changed_ = false;
};

/// One line, byte by byte, so that the next line is still there.
absl::StatusOr<std::string> ReadLine() {
  constexpr char kInterrupt = '\3';
  std::string line;
  char byte = 0;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n') {
    if (byte == kInterrupt) return absl::UnavailableError("interrupted");
    line += byte;
    if (line.size() > kLongestPassword) break;  // CheckLength() refuses it
  }
  if (count == 1 || !line.empty()) return line;
  return absl::UnavailableError("no password came on standard input");
}

absl::Status CheckLength(const std::string& password) {
  if (password.size() >= kShortestPassword && password.size() <= kLongestPassword) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a password has ", kShortestPassword, " to ", kLongestPassword, " bytes"));
}

absl::StatusOr<std::string> AskInTerminal(const std::string& name) {
  const WithoutEcho quiet;
  (void)PrintForPeople(STDERR_FILENO, absl::StrCat("password of ", name, ": "));
  TONY_ASSIGN_OR_RETURN(std::string password, ReadLine());
  TONY_RETURN_IF_ERROR(CheckLength(password));
  (void)PrintForPeople(STDERR_FILENO, "the same again: ");
  TONY_ASSIGN_OR_RETURN(const std::string again, ReadLine());
  if (password == again) return password;
  return absl::InvalidArgumentError("the two passwords are not the same");
}

}  // namespace

absl::StatusOr<std::string> MakeUserLine(const std::string& wish) {
  const size_t colon = wish.find(':');
  const std::string name = wish.substr(0, colon);
  Role role = Role::kView;
  if (colon != std::string::npos) {
    TONY_ASSIGN_OR_RETURN(role, ParseRole(wish.substr(colon + 1)));
  }
  if (!IsUserName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(os::Quoted(name), " is no user's name: 1 to 64 letters, digits and ._@-"));
  }
  TONY_ASSIGN_OR_RETURN(const std::string password,
                        ::isatty(STDIN_FILENO) == 1 ? AskInTerminal(name) : ReadLine());
  TONY_RETURN_IF_ERROR(CheckLength(password));
  TONY_ASSIGN_OR_RETURN(const std::string hash, os::HashPassword(password));
  return absl::StrCat(name, ":", RoleName(role), ":", hash);
}

}  // namespace tony::portal
