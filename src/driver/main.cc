// tony-driver: the rendezvous of a Horovod job, started by its executor. Exits with 1 and a
// sentence if the processes did not find each other in time; see README.md here.
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/version.h"
#include "driver/driver.h"
#include "driver/options.h"

namespace {

constexpr int kBadUsage = 2;

int Fail(const std::string& why, int exit_code) {
  (void)tony::PrintForPeople(STDERR_FILENO, absl::StrCat("tony-driver: ", why, "\n"));
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  tony::SetUpProcess();
  if (tony::AnswersVersion(argc, argv, tony::VersionText())) return 0;
  tony::RaiseOpenFiles();  // one descriptor for each rank that waits
  (void)tony::SetUpLogging("", tony::LogLevel::kInfo);
  const auto options = tony::driver::ParseOptions(std::vector<std::string>(argv, argv + argc));
  if (!options.ok()) return Fail(std::string(options.status().message()), kBadUsage);
  tony::SetLogLevel(options->log_level);
  tony::EventLoop loop;
  const tony::SystemClock clock;
  int exit_code = 0;
  const auto driver =
      tony::driver::Driver::Start(loop, clock, *options, [&](const std::string& sentence) {
        exit_code = Fail(sentence, 1);
        loop.Stop();
      });
  if (!driver.ok()) return Fail(std::string(driver.status().message()), 1);
  loop.Run();
  return exit_code;
}
