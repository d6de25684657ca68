// A note that is not complete yet is read again at the next signal.
#include "backend/image/monitors.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "os/files/files.h"

namespace tony::backend {

void ReapMonitors(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, kMonitorSuffix)) continue;
    const absl::StatusOr<std::string> text = os::ReadFile(path);
    pid_t monitor = 0;
    if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &monitor)) continue;
    if (monitor > 1 && ::waitpid(monitor, nullptr, WNOHANG) == monitor) ::unlink(path.c_str());
  }
}

}  // namespace tony::backend
