// tony-submit: submits a job and follows it to its end.
#include <unistd.h>

#include <cstdio>

#include "client/environment.h"
#include "client/options.h"
#include "client/submit_command.h"
#include "client/version.h"
#include "common/process_setup.h"

int main(int argc, char** argv) {
  tony::SetUpProcess();
  constexpr int kBadUsage = 2;
  constexpr int kHelpWidth = 100;
  const absl::StatusOr<tony::client::SubmitOptions> options =
      tony::client::ParseSubmitOptions({argv + 1, argv + argc});
  if (!options.ok()) {
    std::fprintf(stderr, "tony-submit: %s\n", std::string(options.status().message()).c_str());
    return kBadUsage;
  }
  if (options->help) {
    std::fputs(tony::client::RenderSubmitHelp(kHelpWidth).c_str(), stdout);
    return 0;
  }
  if (options->version) {
    std::printf("tony %s\n", tony::client::kVersion);
    return 0;
  }
  const tony::client::Environment environment = tony::client::ReadEnvironment();
  tony::RaiseOpenFiles();
  const int exit_code = tony::client::RunSubmit(*options, environment);
  // Skips the teardown of gRPC's globals, which waits for its threads.
  std::fflush(nullptr);
  _exit(exit_code);
}
