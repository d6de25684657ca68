// tony-portal: every job of this user in one place, for browsers; started by `tony portal`.
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/version.h"
#include "portal/login/new_user.h"
#include "portal/options.h"
#include "portal/portal.h"
#include "portal/terminal.h"

namespace {

constexpr int kFailed = 3;
constexpr int kBadUsage = 2;

int Fail(const absl::Status& why, int exit_code) {
  (void)tony::PrintForPeople(STDERR_FILENO, absl::StrCat("tony: ", why.message(), "\n"));
  return exit_code;
}

int AddUser(const std::string& wish) {
  const absl::StatusOr<std::string> line = tony::portal::MakeUserLine(wish);
  if (!line.ok()) return Fail(line.status(), kBadUsage);
  (void)tony::PrintForPeople(STDOUT_FILENO, *line + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tony::SetUpProcess();
  if (tony::AnswersVersion(argc, argv, tony::VersionText())) return 0;
  const auto options = tony::portal::ParseOptions(std::vector<std::string>(argv, argv + argc));
  if (!options.ok()) return Fail(options.status(), kBadUsage);
  if (!options->add_user.empty()) return AddUser(options->add_user);
  tony::RaiseOpenFiles();  // one for each connection
  (void)tony::SetUpLogging("", options->log_level);
  tony::EventLoop loop;
  const tony::SystemClock clock;
  const absl::StatusOr<std::unique_ptr<tony::portal::Portal>> portal =
      tony::portal::Portal::Start(loop, clock, *options);
  if (!portal.ok()) return Fail(portal.status(), kFailed);
  const auto signals = loop.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [&](int) { loop.Stop(); });
  const tony::portal::Terminal terminal(loop, **portal, options->json, options->shared.wanted());
  loop.Run();
  return 0;
}
