// tony: looks after submitted jobs; connects the verbs with the terminal and the environment.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "client/cli/terminal.h"
#include "client/verbs/tony_command.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/version.h"
#include "os/files/files.h"

namespace {

/// Ends the program quietly when its reader has gone away (`tony logs | head`).
void EndUnless(bool written) {
  if (!written) std::_Exit(tony::client::kVerbFailed);
}

}  // namespace

int main(int count, char** values) {
  using tony::client::VerbContext;
  tony::SetUpProcess();
  (void)tony::SetUpLogging("", tony::LogLevel::kWarning);  // standard output is the verb's
  const tony::SystemClock clock;
  VerbContext context;
  context.version = tony::VersionText();
  context.environment = tony::client::ReadEnvironment();
  context.machine_file = tony::client::MachineFile(context.environment);
  context.site_file = tony::client::SiteFile(context.environment);
  std::error_code ignored;
  context.working_folder = std::filesystem::current_path(ignored).string();
  context.terminal = isatty(STDOUT_FILENO) == 1;
  context.screen = tony::client::DescribeScreen(STDOUT_FILENO, context.environment);
  // Lines are cut for people only: a program that reads them gets them whole.
  if (!context.terminal) context.screen.width = std::numeric_limits<int>::max();
  context.out = [paint = tony::client::PaintOf(context.screen)](const std::string& text) {
    EndUnless(tony::PrintForPeople(STDOUT_FILENO, text, paint));
  };
  context.err = [](const std::string& text) {
    EndUnless(tony::PrintForPeople(STDERR_FILENO, text));
  };
  context.bytes = [](const std::string& bytes) {
    EndUnless(tony::os::WriteAll(STDOUT_FILENO, bytes.data(), bytes.size(), "stdout").ok());
  };
  context.clock = &clock;
  const int exit_code = tony::client::RunTony({values + 1, values + count}, context);
  // _exit() skips the teardown of gRPC's globals, which would wait for gRPC's threads.
  std::fflush(nullptr);
  _exit(exit_code);
}
