// tony-am, the ApplicationMaster: one process per job, started by tony-submit; see README.md here.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "appmaster/application_master.h"
#include "appmaster/launcher_platform.h"
#include "appmaster/local_platform.h"
#include "appmaster/look_up.h"
#include "appmaster/master_keeper.h"
#include "appmaster/options.h"
#include "appmaster/yarn_platform.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/version.h"

namespace {

constexpr int kJobIsOver = 1;
constexpr int kBadUsage = 2;
constexpr int kInfrastructure = 3;

int Fail(const absl::Status& status, int exit_code) {
  (void)tony::PrintForPeople(STDERR_FILENO, absl::StrCat("tony-am: ", status.message(), "\n"));
  return exit_code;
}

int PrintMaster(const tony::appmaster::Options& options) {
  const absl::StatusOr<std::string> address = tony::appmaster::FindMaster(*options.yarn);
  if (absl::IsNotFound(address.status())) return Fail(address.status(), kJobIsOver);
  if (!address.ok()) return Fail(address.status(), kInfrastructure);
  (void)tony::PrintForPeople(STDOUT_FILENO, *address + "\n");
  return 0;
}

absl::StatusOr<std::unique_ptr<tony::appmaster::Platform>> MakePlatform(
    const tony::appmaster::Options& options, tony::EventLoop& loop) {
  if (options.yarn) return tony::appmaster::YarnPlatform::Create(options, loop);
  if (options.launcher_fd >= 0) return tony::appmaster::LauncherPlatform::Create(options, loop);
  return std::make_unique<tony::appmaster::LocalPlatform>(options, loop);
}

}  // namespace

int main(int argc, char** argv) {
  tony::SetUpProcess();
  if (tony::AnswersVersion(argc, argv, tony::VersionText())) return 0;
  absl::StatusOr<tony::appmaster::Options> options = tony::appmaster::ParseOptions(argc, argv);
  if (!options.ok()) return Fail(options.status(), kBadUsage);
  if (options->look_up && options->yarn) return PrintMaster(*options);
  if (options->detached) options->predecessor = tony::appmaster::SplitOffKeeper(options->restarts);
  tony::RaiseOpenFiles();  // two per task: its executor's connection and its process
  (void)tony::SetUpLogging("", tony::LogLevel::kInfo);
  tony::EventLoop loop;
  {
    absl::StatusOr<std::unique_ptr<tony::appmaster::Platform>> platform =
        MakePlatform(*options, loop);
    if (!platform.ok()) return Fail(platform.status(), kInfrastructure);
    absl::StatusOr<std::unique_ptr<tony::appmaster::ApplicationMaster>> master =
        tony::appmaster::ApplicationMaster::Create(*options, *std::move(platform), loop);
    if (absl::IsCancelled(master.status())) return Fail(master.status(), 0);
    if (!master.ok()) return Fail(master.status(), kInfrastructure);
    auto signals = loop.WatchSignals({SIGTERM, SIGINT, SIGHUP},
                                     [&](int number) { (*master)->OnSignal(number); });
    const absl::Status started = (*master)->Start();
    if (!started.ok()) return Fail(started, kInfrastructure);
    loop.Run();
  }
  // Skips the teardown of gRPC's globals, because the client waits for this process to exit.
  fflush(nullptr);
  _exit(0);
}
