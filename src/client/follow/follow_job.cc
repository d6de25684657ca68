// Assembles the event loop, the printer, the source and gRPC's threads for Submission.
#include "client/follow/follow_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "client/cli/messages.h"
#include "client/cli/terminal.h"
#include "client/show/make_printer.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "rpc/grpc/grpc_threads.h"

namespace tony::client {
namespace {

ProgressStyle StyleOf(const SubmitOptions& options, const Environment& environment) {
  if (options.json) return ProgressStyle::kJson;
  if (options.on_started) return ProgressStyle::kNotices;
  if (options.quiet) return ProgressStyle::kQuiet;
  return IsLiveTerminal(STDOUT_FILENO, environment) ? ProgressStyle::kTable : ProgressStyle::kLines;
}

/// Where the printer writes: notices are no output.
Writer WriterOf(ProgressStyle style) {
  if (style != ProgressStyle::kNotices) return WriteBytes;
  return [](const std::string& text) {
    (void)os::WriteAll(STDERR_FILENO, text.data(), text.size(), "stderr");
  };
}

/// Leads what this process would print on a terminal that is gone elsewhere: messages into `log`,
/// the rest nowhere. Output into a pipe or a file stays as it is. Says in the log that the job goes
/// on.
void LeaveTerminal(const std::string& log) {
  const os::UniqueFd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::UniqueFd messages(log.empty() ? -1
                                          : open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!nowhere.valid()) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // isatty() fails for a terminal that was hung up, with EIO instead of ENOTTY.
    if (isatty(fd) == 0 && errno != EIO) continue;
    const bool logged = fd == STDERR_FILENO && messages.valid();
    (void)dup2(logged ? messages.get() : nowhere.get(), fd);
  }
  if (!log.empty()) (void)SetUpLogging(log, std::min(CurrentLogLevel(), LogLevel::kInfo));
  LogInfo(kHangupSentence);
}

/// What to do at a hang-up; null: stop the job.
std::function<void()> OnHangup(const jobfile::Configuration& configuration,
                               const std::string& log) {
  if (absl::AsciiStrToLower(configuration.GetText("tony.client.on-hangup")) != "detach")
    return nullptr;
  return [log] { LeaveTerminal(log); };
}

}  // namespace

absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const jobfile::Configuration& configuration,
                                        const MakeSource& make_source, bool owner,
                                        const std::string& hangup_log) {
  // gRPC delivers the ApplicationMaster's answers on these threads, so they are started before
  // anything else.
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::GrpcThreads> threads, rpc::GrpcThreads::Start());
  EventLoop loop;
  SystemClock clock;
  const ProgressStyle style = StyleOf(options, environment);
  const std::unique_ptr<ProgressPrinter> printer = MakeProgressPrinter(
      style, WriterOf(style), [&environment] { return DescribeScreen(STDOUT_FILENO, environment); },
      clock);
  const std::unique_ptr<MasterSource> source = make_source(loop, clock);
  Submission submission(
      loop, clock,
      {.answer_deadline = configuration.GetDuration("tony.client.am-start-timeout-ms"),
       .stop_deadline = configuration.GetDuration("tony.client.stop-timeout-ms"),
       .read_deadline = configuration.GetDuration("tony.client.am-exit-timeout-ms"),
       .owner = owner,
       .on_hangup = OnHangup(configuration, hangup_log)},
      *source, *printer);
  const std::unique_ptr<EventLoop::Handle> watch =
      threads->Watch(loop, [&submission](const absl::Status& why) { submission.GiveUp(why); });
  return submission.FollowToEnd();
}

}  // namespace tony::client
