// tony-submit: submits a job and follows it to its end.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/environment.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/completion/complete_submit.h"
#include "client/completion/shell_scripts.h"
#include "client/submit/submit_command.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/version.h"

int main(int argc, char** argv) {
  tony::SetUpProcess();
  if (argc > 1 && std::string(argv[1]) == tony::client::kCompleteWords) {
    tony::client::WriteBytes(tony::client::CompleteSubmit({argv + 2, argv + argc}));
    return 0;
  }
  constexpr int kHelpWidth = 100;
  const absl::StatusOr<tony::client::SubmitOptions> options =
      tony::client::ParseSubmitOptions({argv + 1, argv + argc});
  if (!options.ok()) {
    return tony::client::FailWith(options.status(), tony::client::kBadUsage);
  }
  if (options->help) {
    tony::client::WriteOut(tony::client::RenderSubmitHelp(kHelpWidth));
    return 0;
  }
  if (options->version) {
    tony::client::WriteOut(absl::StrCat(tony::VersionText(), "\n"));
    return 0;
  }
  // Standard output belongs to the job's events; what this program logs is for people.
  (void)tony::SetUpLogging("", options->debug ? tony::LogLevel::kDebug : tony::LogLevel::kWarning);
  const tony::client::Environment environment = tony::client::ReadEnvironment();
  tony::RaiseOpenFiles();
  const int exit_code = tony::client::RunSubmit(*options, environment);
  // _exit() skips the teardown of gRPC's globals, which would wait for gRPC's threads.
  std::fflush(nullptr);
  _exit(exit_code);
}
