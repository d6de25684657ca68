// tony-executor: one process per container, started by the backend. The order of the steps is
// fixed: the keeper is forked before any thread exists, and tony's secrets leave the token file
// before the user's program can run. See README.md here.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "executor/executor.h"
#include "executor/options.h"
#include "executor/output/own_secrets.h"
#include "executor/voucher.h"
#include "os/containment/keeper.h"
#include "os/processes/fork_server.h"
#include "rpc/security/credentials.h"
#include "rpc/security/tls_warm_up.h"

extern char** environ;

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int Fail(const absl::Status& status, int exit_code) {
  (void)tony::PrintForPeople(STDERR_FILENO,
                             absl::StrCat("tony-executor: ", status.message(), "\n"));
  return exit_code;
}

/// The executor's credentials, which are then no longer in the file that its program reads.
absl::StatusOr<tony::rpc::Credentials> TakeCredentials(const tony::executor::Options& options) {
  TONY_ASSIGN_OR_RETURN(tony::rpc::Credentials credentials,
                        tony::executor::ReadCredentials(options));
  if (!options.credentials_secret.empty()) {
    TONY_RETURN_IF_ERROR(
        tony::executor::RemoveOwnSecrets(options.token_file, options.credentials_secret));
  }
  return credentials;
}

}  // namespace

int main(int argc, char** argv) {
  tony::SetUpProcess();
  if (tony::AnswersVersion(argc, argv, tony::VersionText())) return 0;
  (void)tony::SetUpLogging("", tony::LogLevel::kInfo);
  // Hardly two of the ten threads are ever awake at once, so a heap for each would only cost
  // memory.
  mallopt(M_ARENA_MAX, 1);
  std::vector<std::string> arguments(argv, argv + argc);
  if (tony::os::IsForkServer(argc, argv)) {
    tony::rpc::WarmUpTls();
    arguments = tony::os::ServeForks(
        argc, argv);  // from here on this process is the executor of one container
  }
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  absl::StatusOr<tony::executor::Options> options =
      tony::executor::ParseOptions(arguments, environment);
  if (!options.ok()) return Fail(options.status(), kBadUsage);
  if (options->voucher_fd >= 0) {
    return Fail(tony::executor::RedeemVoucher(*options, environment), kFailed);
  }
  const absl::Status variables = tony::executor::AddVariables(*options, environment);
  if (!variables.ok()) return Fail(variables, kFailed);
  tony::SetLogLevel(options->log_level);
  // The keeper starts the program, so it keeps the limit of the user's login. This process raises
  // its own limit afterwards, for tunnels and the rendezvous.
  if (options->open_files > 0) tony::LimitOpenFiles(options->open_files);
  tony::RaiseLockedMemory();
  // The keeper is a fork of this process, so it comes before anything that starts a thread.
  absl::StatusOr<std::unique_ptr<tony::os::Keeper>> keeper =
      tony::os::Keeper::Start(options->container_id, options->containment);
  if (!keeper.ok()) {
    // An example is a machine that has no process left. Whoever started this executor quotes the
    // sentence.
    return Fail(keeper.status(),
                absl::IsResourceExhausted(keeper.status()) ? tony::kExitUnable : kFailed);
  }
  tony::RaiseOpenFiles();
  const absl::StatusOr<tony::rpc::Credentials> credentials = TakeCredentials(*options);
  if (!credentials.ok()) return Fail(credentials.status(), kFailed);
  char folder[4096];
  if (getcwd(folder, sizeof folder) == nullptr)
    return Fail(absl::InternalError("no working folder"), kFailed);

  tony::EventLoop loop;
  tony::executor::Executor executor(loop, **keeper, *options, folder, std::move(environment));
  auto signals =
      loop.WatchSignals({SIGTERM, SIGINT}, [&](int number) { executor.OnSignal(number); });
  executor.Start(*credentials);
  loop.Run();
  // Only the keeper is torn down. The end of the job waits for its executors, and joining the
  // thread that unpacks may take minutes.
  fflush(nullptr);
  keeper->reset();
  _exit(executor.exit_code());
}
