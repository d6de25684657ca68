// Assembles the event loop, the printer, the source and gRPC's threads for Submission.
#include "client/follow/follow_job.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/messages.h"
#include "client/cli/terminal.h"
#include "client/follow/parent_watch.h"
#include "client/jobs/job_json.h"
#include "client/show/make_printer.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "rpc/grpc/grpc_threads.h"

namespace tony::client {
namespace {

/// How long a reader of the tasks' output may take nothing, after the job's end: a user may read a
/// pager's page, or have halted the terminal.
constexpr std::chrono::minutes kOutputPatience{10};
/// How long the record of a job's end, and the last logs of other hosts, may take without a sign of
/// life; and of a job without a verdict, which may have no such record.
constexpr std::chrono::seconds kRecordPatience{10};
constexpr std::chrono::seconds kLostPatience{1};

ProgressStyle StyleOf(const SubmitOptions& options, const Environment& environment) {
  if (options.json) return options.quiet ? ProgressStyle::kNone : ProgressStyle::kJson;
  if (options.step && !options.quiet) return ProgressStyle::kLines;
  if (options.logs) return ProgressStyle::kNotices;
  if (options.quiet) return ProgressStyle::kQuiet;
  return IsLiveTerminal(STDOUT_FILENO, environment) ? ProgressStyle::kTable : ProgressStyle::kLines;
}

void WriteNotice(const std::string& text) {
  (void)os::WriteAll(STDERR_FILENO, text.data(), text.size(), "stderr");
}

/// The output of the tasks beside the followed job. Not thread safe.
class ShownOutput {
 public:
  /// Begins to print. Errno codes – the machine has no descriptor left.
  absl::Status Start(const std::string& task, const FollowedJob& job, int lines_per_second,
                     const Screen& screen) {
    JobOutput::Options options;
    options.job_id = job.id;
    options.open_catalog = job.open_catalog;
    options.selection.task = task;
    options.terminal = isatty(STDOUT_FILENO) == 1;
    options.lines_per_second = lines_per_second;
    options.paint = PaintOf(screen);
    options.notice = [](const std::string& sentence) {
      PrintNotice(absl::StrCat("tony: ", sentence));
    };
    options.on_end = [this] { loop_.Post([this] { loop_.Stop(); }); };
    TONY_ASSIGN_OR_RETURN(output_, JobOutput::Start(STDOUT_FILENO, std::move(options)));
    return absl::OkStatus();
  }

  /// Waits until everything is printed, or nothing moves for kOutputPatience, or the user presses
  /// Ctrl-C. `concluded`: the job has its verdict. The loop is not the job's: that one must not run
  /// after the job's end.
  void Await(bool concluded) {
    if (output_ == nullptr) return;
    const auto signals = loop_.WatchSignals({SIGINT, SIGTERM}, [this](int) { loop_.Stop(); });
    WatchProgress(concluded ? kRecordPatience : kLostPatience, Duration::zero());
    loop_.Run();
    late_.reset();
  }

  void Stop() { output_.reset(); }

 private:
  /// `idle`: how long nothing has moved.
  void WatchProgress(Duration pause, Duration idle) {
    late_ = loop_.After(pause, [this, pause, idle, before = output_->printed()] {
      if (output_->printed() != before) return WatchProgress(pause, Duration::zero());
      // The end of a job that nobody could record is not in the folder that the output follows.
      output_->Finish();
      if (idle + pause < kOutputPatience) return WatchProgress(kRecordPatience, idle + pause);
      PrintNotice(absl::StrCat("tony: nobody has taken the output for ", kOutputPatience.count(),
                               " minutes; the rest of it is left out"));
      loop_.Stop();
    });
  }

  EventLoop loop_;
  std::unique_ptr<EventLoop::Handle> late_;
  std::unique_ptr<JobOutput> output_;  ///< last member: its thread uses the loop
};

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

/// The step's part of the submission; `parent` watches the process of --stop-with.
FollowedStep StepOf(const SubmitOptions& options, const FollowedJob& job,
                    std::optional<ParentWatch>& parent) {
  FollowedStep step = job.step;
  if (options.stop_with == 0) return step;
  parent.emplace(options.stop_with);
  step.parent_fd = parent->fd();
  step.stops_with_parent = true;
  return step;
}

}  // namespace

absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const jobfile::Configuration& configuration,
                                        const FollowedJob& job) {
  // A user who leaves may press Ctrl-C again while this function tidies up. Signals are heard by
  // whoever runs a loop; this loop never runs, so that they end nothing in between.
  EventLoop deaf;
  const auto unheard = deaf.WatchSignals({SIGINT, SIGTERM}, [](int) {});
  // gRPC delivers the ApplicationMaster's answers on these threads, so they are started before
  // anything else.
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::GrpcThreads> threads, rpc::GrpcThreads::Start());
  EventLoop loop;
  SystemClock clock;
  const ProgressStyle style = StyleOf(options, environment);
  const ScreenSource screen = [&environment, &options] {
    Screen now = DescribeScreen(STDOUT_FILENO, environment);
    now.all = options.all;
    return now;
  };
  const std::function<void()> write_id = [&options, &job] {
    WriteJobId(options, job.id, job.local_dir);
  };
  const std::unique_ptr<ProgressPrinter> printer =
      options.make_printer ? options.make_printer(loop)
      : style == ProgressStyle::kNone
          ? MakeFirstEventPrinter(job.owner && !job.local_dir.empty() ? write_id : nullptr)
          : MakeProgressPrinter(style, WriteBytes, screen, clock, WriteNotice);
  ShownOutput output;
  if (options.logs) {
    const int64_t rate =
        options.step ? configuration.GetNumber("tony.client.step-lines-per-second") : 0;
    TONY_RETURN_IF_ERROR(output.Start(*options.logs, job, static_cast<int>(rate), screen()));
  }
  std::optional<ParentWatch> parent;
  const std::unique_ptr<MasterSource> source = job.make_source(loop, clock);
  Submission submission(
      loop, clock,
      {.answer_deadline = configuration.GetDuration("tony.client.am-start-timeout-ms"),
       .stop_deadline = configuration.GetDuration("tony.client.stop-timeout-ms"),
       .read_deadline = configuration.GetDuration("tony.client.am-exit-timeout-ms"),
       .kill_grace = configuration.GetDuration("tony.task.kill-grace-ms"),
       .owner = job.owner,
       .on_hangup = options.step ? nullptr : OnHangup(configuration, job.hangup_log),
       .step = StepOf(options, job, parent)},
      *source, *printer);
  const std::unique_ptr<EventLoop::Handle> watch =
      threads->Watch(loop, [&submission](const absl::Status& why) { submission.GiveUp(why); });
  // A cluster may let the ApplicationMaster wait for hours, so its job's id is told before the
  // first event; but from the loop, where this process already hears signals.
  if (style == ProgressStyle::kNone && job.owner && job.local_dir.empty()) loop.Post(write_id);
  const absl::StatusOr<core::Verdict> verdict = submission.FollowToEnd();
  // A user who has left does not wait for the rest.
  if (!absl::IsCancelled(verdict.status())) output.Await(verdict.ok());
  output.Stop();
  printer->Close();
  if (style == ProgressStyle::kNone) WriteBytes(DumpJsonLine(EndToJson(job.id, verdict)));
  return verdict;
}

}  // namespace tony::client
