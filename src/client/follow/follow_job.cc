// Assembles the event loop, the printer, the source and gRPC's threads for Submission.
#include "client/follow/follow_job.h"

#include <unistd.h>

#include "client/cli/messages.h"
#include "client/cli/terminal.h"
#include "client/show/make_printer.h"
#include "common/status_macros.h"
#include "rpc/grpc/grpc_threads.h"

namespace tony::client {
namespace {

ProgressStyle StyleOf(const SubmitOptions& options, const Environment& environment) {
  if (options.json) return ProgressStyle::kJson;
  if (options.quiet) return ProgressStyle::kQuiet;
  return IsLiveTerminal(STDOUT_FILENO, environment) ? ProgressStyle::kTable : ProgressStyle::kLines;
}

}  // namespace

absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const jobfile::Configuration& configuration,
                                        const MakeSource& make_source) {
  // gRPC delivers the ApplicationMaster's answers on these threads, so they are started before
  // anything else.
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::GrpcThreads> threads, rpc::GrpcThreads::Start());
  EventLoop loop;
  SystemClock clock;
  const std::unique_ptr<ProgressPrinter> printer = MakeProgressPrinter(
      StyleOf(options, environment), WriteBytes,
      [&environment] { return DescribeScreen(STDOUT_FILENO, environment); }, clock);
  const std::unique_ptr<MasterSource> source = make_source(loop, clock);
  Submission submission(
      loop, clock,
      {.answer_deadline = configuration.GetDuration("tony.client.am-start-timeout-ms"),
       .stop_deadline = configuration.GetDuration("tony.client.stop-timeout-ms"),
       .read_deadline = configuration.GetDuration("tony.client.am-exit-timeout-ms")},
      *source, *printer);
  const std::unique_ptr<EventLoop::Handle> watch =
      threads->Watch(loop, [&submission](const absl::Status& why) { submission.GiveUp(why); });
  return submission.FollowToEnd();
}

}  // namespace tony::client
