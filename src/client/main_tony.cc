// The program `tony`.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "client/terminal.h"
#include "client/tony_command.h"
#include "common/process_setup.h"

namespace {

/// Writes all of `text`. A reader who went away (`tony logs | head`) ends the program quietly.
void WriteTo(int fd, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) std::_Exit(tony::client::kVerbFailed);
    written += count;
  }
}

}  // namespace

int main(int count, char** values) {
  using tony::client::VerbContext;
  tony::SetUpProcess();
  const tony::SystemClock clock;
  VerbContext context;
  context.environment = tony::client::ReadEnvironment();
  context.site_file = tony::client::SiteFile(context.environment);
  std::error_code ignored;
  context.working_folder = std::filesystem::current_path(ignored).string();
  context.out = [](const std::string& text) { WriteTo(STDOUT_FILENO, text); };
  context.err = [](const std::string& text) { WriteTo(STDERR_FILENO, text); };
  context.terminal = isatty(STDOUT_FILENO) == 1;
  context.screen = tony::client::DescribeScreen(STDOUT_FILENO, context.environment);
  // Lines are cut for people only: a program that reads them gets them whole.
  if (!context.terminal) context.screen.width = std::numeric_limits<int>::max();
  context.clock = &clock;
  return tony::client::RunTony({values + 1, values + count}, context);
}
