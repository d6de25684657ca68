// One phrase per cause of an exit; a message, if any, follows after a colon.
#include "core/tasks/task_exit.h"

#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tony::core {

std::string TaskExit::Describe() const {
  std::string text;
  switch (cause) {
    case Cause::kExited:
      text = absl::StrCat("exited with code ", code);
      break;
    case Cause::kSignaled: {
      const char* name = sigabbrev_np(signal);
      text = absl::StrCat("was killed by signal ", signal,
                          name ? absl::StrCat(" (SIG", name, ")") : "");
      break;
    }
    case Cause::kNotStarted:
      text = "could not be started";
      break;
    case Cause::kTimedOut:
      text = "was stopped because it ran longer than allowed";
      break;
    case Cause::kOutOfMemory:
      text = "used more memory than its container has";
      break;
    case Cause::kLost:
      text = "was lost";
      break;
    case Cause::kStopped:
      text = "was ended by tony";
      break;
  }
  if (!message.empty()) absl::StrAppend(&text, ": ", message);
  return text;
}

}  // namespace tony::core
